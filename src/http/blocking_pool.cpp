#include "http/blocking_pool.h"

#include <chrono>
#include <system_error>
#include <utility>

namespace injector::http {
namespace {

constexpr auto kPatience = std::chrono::seconds(10);

}  // namespace

BlockingPool::BlockingPool(std::size_t limit, base::Logger log)
    : limit_(limit),
      log_(std::move(log)) {}

BlockingPool::~BlockingPool() {
  stop();
}

void BlockingPool::run(Work work) {
  Threads left;  // Joined once the lock has been released; they have returned, or are about to.
  {
    const base::MutexLock lock(mutex_);
    if (stopping_) {
      return;
    }
    left.swap(left_);
    queue_.push_back(std::move(work));
    // Counted under the lock that the threads take their work under: each piece of work that waits
    // has a free thread coming for it, or a new one.
    if (queue_.size() > free_ && threads_.size() < limit_) {
      start_thread();
    }
  }
  changed_.notify_one();
}

void BlockingPool::start_thread() {
  const auto self = threads_.emplace(threads_.end());
  try {
    *self = std::jthread([this, self] { serve(self); });
  } catch (const std::system_error& error) {
    threads_.erase(self);
    log_.warn("cannot start a thread", {{"error", error.what()}});
  }
}

void BlockingPool::stop() {
  Threads all;
  {
    const base::MutexLock lock(mutex_);
    stopping_ = true;
    queue_.clear();
    all.swap(threads_);
    all.splice(all.end(), left_);
  }
  changed_.notify_all();
}

std::size_t BlockingPool::threads() const {
  const base::MutexLock lock(mutex_);
  return threads_.size();
}

void BlockingPool::serve(Threads::iterator self) {
  while (const Work work = next(self)) {
    work();
  }
}

/// Nothing: the thread is to end.
BlockingPool::Work BlockingPool::next(Threads::iterator self) {
  const base::MutexLock lock(mutex_);
  ++free_;
  const bool in_time = changed_.wait_for(
      mutex_, kPatience, [this]() INJ_REQUIRES(mutex_) { return stopping_ || !queue_.empty(); });
  --free_;
  if (stopping_) {
    return {};
  }
  if (!in_time) {
    left_.splice(left_.end(), threads_, self);
    return {};
  }
  Work work = std::move(queue_.front());
  queue_.pop_front();
  return work;
}

}  // namespace injector::http
