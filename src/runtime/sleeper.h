// Waiting as a dependency, so that tests of loops never wait.

#pragma once

#include <condition_variable>
#include <stop_token>

#include "base/clock.h"
#include "base/mutex.h"

namespace injector::runtime {

/// May be called from any thread.
class Sleeper {
 public:
  virtual ~Sleeper() = default;

  /// Waits for `time`, or until `stop` is requested. True: the whole time has passed.
  virtual bool sleep(base::Duration time, const std::stop_token& stop) = 0;
};

/// Really waits.
class SteadySleeper final : public Sleeper {
 public:
  bool sleep(base::Duration time, const std::stop_token& stop) override {
    base::Mutex mutex;
    std::condition_variable_any never;
    const base::MutexLock lock(mutex);
    never.wait_for(mutex, stop, time, [] { return false; });
    return !stop.stop_requested();
  }
};

}  // namespace injector::runtime
