// How long a blocking call may take, and who may end it early. A call that takes an Until returns
// Cancelled within 100 ms of a stop, and Unavailable at the deadline.

#pragma once

#include <chrono>
#include <stop_token>
#include <string_view>

#include "base/clock.h"
#include "base/file_descriptor.h"
#include "base/result.h"

namespace injector::base {

struct Until {
  std::stop_token stop;
  TimePoint deadline = TimePoint::max();  // Of the real steady clock: sockets wait on it.

  /// The same stop, and the earlier of the deadline and `from_now`.
  [[nodiscard]] Until within(Duration from_now) const;

  /// Nothing while the caller may go on.
  [[nodiscard]] Result<void> check() const;
};

[[nodiscard]] Error cancelled();
[[nodiscard]] Error timed_out();

/// Sleeps the whole time, or returns early with the reason why not.
[[nodiscard]] Result<void> sleep_for(Duration time, const Until& until);

/// Waits for file descriptors. Used by one thread at a time; the stop may come from any.
class Waiter {
 public:
  Waiter();

  /// Returns when poll(2) reports any of `events`, an error or a hang-up on `fd`.
  [[nodiscard]] Result<void> wait(int fd, short events, const Until& until) const;

 private:
  FileDescriptor wake_;  // An eventfd that a stop writes to.
};

/// "connect: connection refused".
[[nodiscard]] Error system_error(std::string_view what, int number);

}  // namespace injector::base
