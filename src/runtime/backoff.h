// Growing delays with jitter, for a loop that talks to a server which may be down. Not thread-safe.

#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>

#include "base/clock.h"

namespace injector::runtime {

/// `time` times a random number in [1, 1 + factor), so that many clients do not come back at once.
template <class Random>
[[nodiscard]] base::Duration jittered(base::Duration time, double factor, Random& random) {
  std::uniform_real_distribution<double> extra(0, factor);
  const double stretched = static_cast<double>(time.count()) * (1 + extra(random));
  return base::Duration(static_cast<base::Duration::rep>(stretched));
}

struct BackoffPolicy {
  base::Duration initial{800};
  base::Duration cap{30'000};  // Before jitter.
  int growth = 2;
  double jitter = 1.0;
  base::Duration reset_after{120'000};  // Counted from the last reset, not from the last delay.
};

class Backoff {
 public:
  Backoff(const BackoffPolicy& policy, std::uint64_t seed)
      : policy_(policy),
        random_(seed),
        delay_(policy.initial) {}

  /// How long to wait at `now`; the next answer is longer, up to the cap.
  [[nodiscard]] base::Duration next(base::TimePoint now) {
    if (now - last_reset_ >= policy_.reset_after) {
      delay_ = policy_.initial;
      last_reset_ = now;
    }
    const base::Duration answer = jittered(delay_, policy_.jitter, random_);
    delay_ = std::min(delay_ * policy_.growth, policy_.cap);
    return answer;
  }

 private:
  const BackoffPolicy policy_;
  std::mt19937_64 random_;
  base::Duration delay_;  // Of the next answer, before jitter.
  base::TimePoint last_reset_{};
};

}  // namespace injector::runtime
