// A line on a terminal while a command has nothing else to say: from the first second on, what is
// being done, how many objects it was for, and for how long. Not there where `err` is no terminal.
//
// count() and doing() may be called from any thread; a thread of its own draws the line until
// clear() or the end. Nothing else may write to the stream before clear().

#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <ostream>
#include <stop_token>
#include <string>
#include <thread>

#include "base/mutex.h"

namespace injector::cli {

struct ProgressPace {
  std::chrono::milliseconds first{1000};
  std::chrono::milliseconds next{200};
};

class Progress {
 public:
  /// `err` is not owned and outlives this.
  Progress(std::ostream& err, bool enabled, std::string what, ProgressPace pace = {});

  ~Progress() { clear(); }

  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void count() { objects_.fetch_add(1, std::memory_order_relaxed); }

  /// "reading Pods"
  void doing(std::string what) INJ_EXCLUDES(mutex_);

  /// Takes the line away for good.
  void clear();

 private:
  void draw(const std::stop_token& stop) INJ_EXCLUDES(mutex_);
  [[nodiscard]] std::string line(std::chrono::seconds elapsed) INJ_REQUIRES(mutex_);

  std::ostream& err_;  // Not owned; the thread's until clear().
  const ProgressPace pace_;
  std::atomic<std::size_t> objects_{0};
  base::Mutex mutex_;
  std::condition_variable_any woken_;  // By a stop only.
  std::string what_ INJ_GUARDED_BY(mutex_);
  std::jthread thread_;  // Last: it uses the others.
};

}  // namespace injector::cli
