#include "admission/byte_budget.h"

#include <algorithm>

namespace injector::admission {

std::optional<ByteBudget::Share> ByteBudget::take(std::size_t bytes,
                                                  std::chrono::milliseconds patience) {
  const std::size_t part = std::min(bytes, limit_);
  const base::MutexLock lock(mutex_);
  const bool free = freed_.wait_for(mutex_, patience,
                                    [&]() INJ_REQUIRES(mutex_) { return part <= limit_ - used_; });
  if (!free) {
    return std::nullopt;
  }
  used_ += part;
  return std::optional<Share>(std::in_place, *this, part);
}

void ByteBudget::give_back(std::size_t bytes) {
  const base::MutexLock lock(mutex_);
  used_ -= bytes;
  freed_.notify_all();
}

}  // namespace injector::admission
