// The client's own brake: so many requests a second, with a burst.

#pragma once

#include "base/mutex.h"
#include "base/result.h"
#include "base/until.h"
#include "runtime/rate_limiter.h"

namespace injector::kube {

/// May be called from any thread.
class RequestLimiter {
 public:
  /// Not positive `per_second`: no limit.
  RequestLimiter(double per_second, int burst);

  /// Returns when a request may be sent. Whoever gives up waiting has used nothing up.
  [[nodiscard]] base::Result<void> wait(const base::Until& until);

 private:
  [[nodiscard]] bool try_take();

  const double per_second_;
  base::Mutex mutex_;
  runtime::TokenBucket bucket_ INJ_GUARDED_BY(mutex_);
};

}  // namespace injector::kube
