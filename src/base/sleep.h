// A sleep that a stop token ends.

#pragma once

#include <condition_variable>
#include <stop_token>

#include "base/clock.h"
#include "base/mutex.h"

namespace injector::base {

/// Waits until `wake`, or until `stop` is requested. True: the whole time has passed. Any thread.
inline bool sleep_until(TimePoint wake, const std::stop_token& stop) {
  Mutex mutex;
  std::condition_variable_any never;  // Only the stop token or the clock ends the wait.
  const MutexLock lock(mutex);
  never.wait_until(mutex, stop, wake, [] { return false; });
  return !stop.stop_requested();
}

/// The same for a length of time.
inline bool sleep_for(Duration time, const std::stop_token& stop) {
  return sleep_until(std::chrono::steady_clock::now() + time, stop);
}

}  // namespace injector::base
