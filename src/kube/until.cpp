#include "kube/until.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>

namespace injector::kube {

Until Until::within(base::Duration from_now) const {
  const base::TimePoint now = std::chrono::steady_clock::now();
  if (deadline - now <= from_now) {
    return *this;
  }
  return Until{stop, now + from_now};
}

base::Result<void> Until::check() const {
  if (stop.stop_requested()) {
    return cancelled();
  }
  if (std::chrono::steady_clock::now() >= deadline) {
    return timed_out();
  }
  return {};
}

base::Error cancelled() {
  return {base::ErrorCode::Cancelled, "stopped"};
}

base::Error timed_out() {
  return {base::ErrorCode::Unavailable, "timed out"};
}

base::Result<void> sleep_for(base::Duration time, const Until& until) {
  const base::TimePoint wake = until.within(time).deadline;
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any never;  // Only the stop token or the clock ends the wait.
  never.wait_until(lock, until.stop, wake, [] { return false; });
  return until.check();
}

}  // namespace injector::kube
