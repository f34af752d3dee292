// Threads for handlers that may block. They are started when there is work that no thread is free
// for, up to a limit, and leave when there has been nothing to do for a while. Beyond the limit
// work waits for its turn.
//
// run() may be called from any thread.

#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <thread>

#include "base/log.h"
#include "base/mutex.h"

namespace injector::http {

class BlockingPool {
 public:
  using Work = std::function<void()>;

  BlockingPool(std::size_t limit, base::Logger log);

  /// Drops what has not begun, and waits for what has.
  ~BlockingPool();
  BlockingPool(const BlockingPool&) = delete;
  BlockingPool& operator=(const BlockingPool&) = delete;

  /// `work` must not throw. After stop() it is dropped.
  void run(Work work) INJ_EXCLUDES(mutex_);

  void stop() INJ_EXCLUDES(mutex_);

  [[nodiscard]] std::size_t threads() const INJ_EXCLUDES(mutex_);

 private:
  using Threads = std::list<std::jthread>;

  void start_thread() INJ_REQUIRES(mutex_);
  void serve(Threads::iterator self) INJ_EXCLUDES(mutex_);
  [[nodiscard]] Work next(Threads::iterator self) INJ_EXCLUDES(mutex_);

  const std::size_t limit_;
  const base::Logger log_;
  mutable base::Mutex mutex_;
  std::condition_variable_any changed_;
  bool stopping_ INJ_GUARDED_BY(mutex_) = false;
  std::deque<Work> queue_ INJ_GUARDED_BY(mutex_);
  std::size_t free_ INJ_GUARDED_BY(mutex_) = 0;  // Threads that wait for work.
  Threads threads_ INJ_GUARDED_BY(mutex_);
  Threads left_ INJ_GUARDED_BY(mutex_);  // Have nothing to do any more: to be joined.
};

}  // namespace injector::http
