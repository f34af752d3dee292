// How long a blocking call may take, and who may end it early. Every call of this folder that can
// block takes one; it returns Cancelled within 100 ms of a stop, Unavailable at the deadline.

#pragma once

#include <chrono>
#include <stop_token>

#include "base/clock.h"
#include "base/result.h"

namespace injector::kube {

struct Until {
  std::stop_token stop;
  base::TimePoint deadline =
      base::TimePoint::max();  // Of the real steady clock: sockets wait on it.

  /// The same stop, and the earlier of the deadline and `from now`.
  [[nodiscard]] Until within(base::Duration from_now) const;

  /// Nothing while the caller may go on.
  [[nodiscard]] base::Result<void> check() const;
};

[[nodiscard]] base::Error cancelled();
[[nodiscard]] base::Error timed_out();

/// Sleeps the whole time, or returns early with the reason why not.
[[nodiscard]] base::Result<void> sleep_for(base::Duration time, const Until& until);

}  // namespace injector::kube
