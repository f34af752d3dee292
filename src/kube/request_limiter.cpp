#include "kube/request_limiter.h"

#include <algorithm>
#include <chrono>

namespace injector::kube {

RequestLimiter::RequestLimiter(double per_second, int burst)
    : per_second_(per_second),
      bucket_(per_second, std::max(burst, 1)) {}

bool RequestLimiter::try_take() {
  const base::MutexLock lock(mutex_);
  return bucket_.try_take(std::chrono::steady_clock::now());
}

base::Result<void> RequestLimiter::wait(const base::Until& until) {
  if (!(per_second_ > 0)) {
    return until.check();
  }
  const auto one_token = std::chrono::duration<double>(1 / per_second_);
  const auto pause = std::clamp(std::chrono::ceil<base::Duration>(one_token), base::Duration(1),
                                base::Duration(1000));
  while (!try_take()) {
    if (auto slept = base::sleep_for(pause, until); !slept) {
      return annotate(std::move(slept).error(), "client-side rate limit");
    }
  }
  return until.check();
}

}  // namespace injector::kube
