// How long a failed key has to wait: the longer of its own exponential delay and the place in an
// overall token bucket, so that neither one bad object nor ten thousand of them flood the server.
// Time is an argument; nothing here is thread-safe.

#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>

#include "base/clock.h"

namespace injector::runtime {

/// Holds `burst` tokens and gains `per_second`. Starts full.
class TokenBucket {
 public:
  TokenBucket(double per_second, double burst)
      : per_second_(per_second),
        burst_(burst),
        tokens_(burst) {}

  /// Takes a token if there is one.
  [[nodiscard]] bool try_take(base::TimePoint now) {
    refill(now);
    if (tokens_ < 1) {
      return false;
    }
    tokens_ -= 1;
    return true;
  }

  /// Takes a token, maybe one of the future; returns how long until it is there.
  [[nodiscard]] base::Duration reserve(base::TimePoint now) {
    refill(now);
    tokens_ -= 1;
    if (tokens_ >= 0) {
      return base::Duration(0);
    }
    return std::chrono::ceil<base::Duration>(std::chrono::duration<double>(-tokens_ / per_second_));
  }

 private:
  void refill(base::TimePoint now) {
    if (now > filled_at_) {
      const std::chrono::duration<double> passed = now - filled_at_;
      tokens_ = std::min(burst_, tokens_ + passed.count() * per_second_);
    }
    filled_at_ = std::max(filled_at_, now);
  }

  double per_second_;
  double burst_;
  double tokens_;                // At most burst_; negative: promised ahead of time.
  base::TimePoint filled_at_{};  // Only grows. Full at the start, whenever that is.
};

/// 5 ms, doubled for every failure of the key, up to 1000 s.
template <class Key>
class ItemBackoff {
 public:
  static constexpr base::Duration kBase{5};
  static constexpr base::Duration kMax{1'000'000};

  [[nodiscard]] base::Duration next(const Key& key) {
    const int failures = failures_[key]++;
    // 2^18 times 5 ms is past the maximum already; a larger shift would overflow in the end.
    return std::min(kMax, kBase * (base::Duration::rep{1} << std::min(failures, 18)));
  }

  [[nodiscard]] int failures(const Key& key) const {
    const auto found = failures_.find(key);
    return found == failures_.end() ? 0 : found->second;
  }

  void forget(const Key& key) { failures_.erase(key); }

 private:
  std::map<Key, int> failures_;  // Keys that failed and were not forgotten; at least 1 each.
};

template <class Key>
class RateLimiter {
 public:
  static constexpr double kPerSecond = 10;
  static constexpr double kBurst = 100;

  [[nodiscard]] base::Duration delay(const Key& key, base::TimePoint now) {
    return std::max(items_.next(key), bucket_.reserve(now));
  }

  void forget(const Key& key) { items_.forget(key); }

  [[nodiscard]] int retries(const Key& key) const { return items_.failures(key); }

 private:
  ItemBackoff<Key> items_;
  TokenBucket bucket_{kPerSecond, kBurst};
};

}  // namespace injector::runtime
