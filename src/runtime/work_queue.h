// A queue of keys (not objects) waiting for a worker. It promises:
//   - keys leave in the order they became ready;
//   - adding a waiting key again changes nothing, so a burst of events costs one pass;
//   - one key has at most one worker; a key added while leased goes back in line on release;
//   - add_after() on a key that is already delayed keeps the earlier time.
//
// Every method may be called from any thread. Workers stop through their stop_token.

#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <stop_token>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"
#include "runtime/queue_metrics.h"

namespace injector::runtime {

template <class Key>
class WorkQueue {
 public:
  /// A key checked out by one worker. Destroying the lease gives the key back.
  class Lease {
   public:
    Lease(Lease&& other) noexcept
        : queue_(std::exchange(other.queue_, nullptr)),
          key_(std::move(other.key_)) {}

    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    Lease& operator=(Lease&&) = delete;

    ~Lease() {
      if (queue_ != nullptr) {
        queue_->release(key_);
      }
    }

    [[nodiscard]] const Key& key() const noexcept { return key_; }

   private:
    friend class WorkQueue;

    Lease(WorkQueue& queue, Key key)
        : queue_(&queue),
          key_(std::move(key)) {}

    WorkQueue* queue_;  // Null once moved from.
    Key key_;
  };

  /// `clock` is not owned and outlives the queue; take() waits in real time, so give it a real one.
  explicit WorkQueue(const base::Clock& clock, QueueMetrics metrics = {})
      : clock_(clock),
        metrics_(metrics) {}

  void add(Key key) INJ_EXCLUDES(mutex_) {
    const base::MutexLock lock(mutex_);
    mark_dirty(std::move(key), clock_.now());
  }

  void add_after(Key key, base::Duration delay) INJ_EXCLUDES(mutex_) {
    const base::MutexLock lock(mutex_);
    metrics_.retried();
    if (delay <= base::Duration(0)) {
      mark_dirty(std::move(key), clock_.now());
    } else {
      postpone(std::move(key), clock_.now() + delay);
    }
  }

  /// Returns a ready key, or nothing; never blocks. Tests drive this with a FakeClock.
  [[nodiscard]] std::optional<Lease> try_take() INJ_EXCLUDES(mutex_) {
    const base::MutexLock lock(mutex_);
    return pop_ready();
  }

  /// Blocks until a key is ready; empty once `stop` is requested.
  [[nodiscard]] std::optional<Lease> take(const std::stop_token& stop) INJ_EXCLUDES(mutex_) {
    const base::MutexLock lock(mutex_);
    while (!stop.stop_requested()) {
      if (auto lease = pop_ready()) {
        return lease;
      }
      wait_for_change(stop);
    }
    return std::nullopt;
  }

  /// How many keys could be taken now.
  [[nodiscard]] std::size_t ready() INJ_EXCLUDES(mutex_) {
    const base::MutexLock lock(mutex_);
    promote_due(clock_.now());
    return ready_.size();
  }

 private:
  using Schedule = std::multimap<base::TimePoint, Key>;

  // Whoever waits may be waiting for a key or for an earlier due time, and may be about to leave
  // because of its own stop: so every change wakes everybody.

  void mark_dirty(Key key, base::TimePoint now) INJ_REQUIRES(mutex_) {
    if (!dirty_.try_emplace(key, now).second) {
      return;
    }
    metrics_.added();
    if (!held_.contains(key)) {
      line_up(std::move(key));
    }
  }

  void line_up(Key key) INJ_REQUIRES(mutex_) {
    ready_.push_back(std::move(key));
    metrics_.lined_up();
    changed_.notify_all();
  }

  void postpone(Key key, base::TimePoint due) INJ_REQUIRES(mutex_) {
    const auto known = delayed_.find(key);
    if (known != delayed_.end()) {
      if (known->second->first <= due) {
        return;
      }
      schedule_.erase(known->second);
      known->second = schedule_.emplace(due, std::move(key));
    } else {
      const auto entry = schedule_.emplace(due, key);
      delayed_.emplace(std::move(key), entry);
    }
    changed_.notify_all();
  }

  void promote_due(base::TimePoint now) INJ_REQUIRES(mutex_) {
    while (!schedule_.empty() && schedule_.begin()->first <= now) {
      auto due = schedule_.extract(schedule_.begin());
      delayed_.erase(due.mapped());
      mark_dirty(std::move(due.mapped()), now);
    }
  }

  std::optional<Lease> pop_ready() INJ_REQUIRES(mutex_) {
    const base::TimePoint now = clock_.now();
    promote_due(now);
    if (ready_.empty()) {
      return std::nullopt;
    }
    Key key = std::move(ready_.front());
    ready_.pop_front();
    metrics_.left_line();
    const auto added = dirty_.find(key);
    metrics_.waited(now - added->second);
    dirty_.erase(added);
    held_.emplace(key, now);
    return Lease(*this, std::move(key));
  }

  [[nodiscard]] std::optional<base::TimePoint> next_due() const INJ_REQUIRES(mutex_) {
    return schedule_.empty() ? std::nullopt : std::optional(schedule_.begin()->first);
  }

  void wait_for_change(const std::stop_token& stop) INJ_REQUIRES(mutex_) {
    const auto due = next_due();
    const auto woken = [&]() INJ_REQUIRES(mutex_) { return !ready_.empty() || next_due() != due; };
    if (due.has_value()) {
      changed_.wait_until(mutex_, stop, *due, woken);
    } else {
      changed_.wait(mutex_, stop, woken);
    }
  }

  void release(const Key& key) INJ_EXCLUDES(mutex_) {
    const base::MutexLock lock(mutex_);
    const auto held = held_.find(key);
    metrics_.worked(clock_.now() - held->second);
    held_.erase(held);
    if (dirty_.contains(key)) {
      line_up(key);
    }
  }

  const base::Clock& clock_;  // Not owned; outlives the queue.
  const QueueMetrics metrics_;

  base::Mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Key> ready_
      INJ_GUARDED_BY(mutex_);  // Keys of dirty_ that are not in held_, each once.
  std::map<Key, base::TimePoint> dirty_ INJ_GUARDED_BY(mutex_);  // To be worked on; since when.
  std::map<Key, base::TimePoint> held_ INJ_GUARDED_BY(mutex_);   // Leased; since when.
  Schedule schedule_ INJ_GUARDED_BY(mutex_);                     // Delayed keys by due time.
  std::map<Key, typename Schedule::iterator> delayed_
      INJ_GUARDED_BY(mutex_);  // Where each of them stands in schedule_.
};

}  // namespace injector::runtime
