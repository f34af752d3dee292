// A WorkQueue that knows how often a key has failed:
//   - add_rate_limited() adds the key after a delay that grows with its failures; see
//     rate_limiter.h;
//   - forget() is for a key that succeeded or is given up: its next failure starts small again.
//
// Every method may be called from any thread.

#pragma once

#include <utility>

#include "base/clock.h"
#include "base/mutex.h"
#include "runtime/queue_metrics.h"
#include "runtime/rate_limiter.h"
#include "runtime/work_queue.h"

namespace injector::runtime {

template <class Key>
class RateLimitedQueue : public WorkQueue<Key> {
 public:
  explicit RateLimitedQueue(const base::Clock& clock, QueueMetrics metrics = {})
      : WorkQueue<Key>(clock, metrics),
        clock_(clock) {}

  void add_rate_limited(Key key) INJ_EXCLUDES(mutex_) {
    const base::Duration delay = next_delay(key);
    this->add_after(std::move(key), delay);
  }

  void forget(const Key& key) INJ_EXCLUDES(mutex_) {
    const base::MutexLock lock(mutex_);
    limiter_.forget(key);
  }

  /// Failures since the key was last forgotten.
  [[nodiscard]] int retries(const Key& key) const INJ_EXCLUDES(mutex_) {
    const base::MutexLock lock(mutex_);
    return limiter_.retries(key);
  }

 private:
  base::Duration next_delay(const Key& key) INJ_EXCLUDES(mutex_) {
    const base::MutexLock lock(mutex_);
    return limiter_.delay(key, clock_.now());
  }

  const base::Clock& clock_;  // Not owned; outlives the queue.

  mutable base::Mutex mutex_;
  RateLimiter<Key> limiter_ INJ_GUARDED_BY(mutex_);
};

}  // namespace injector::runtime
