// Bounds how many bytes of large requests are worked on at a time, over all threads: what is made
// of a request while it is read takes several times its size. Thread-safe.

#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <optional>
#include <utility>

#include "base/mutex.h"

namespace injector::admission {

class ByteBudget {
 public:
  /// A part of the budget, given back by the destructor.
  class Share {
   public:
    Share(ByteBudget& budget, std::size_t bytes)
        : budget_(&budget),
          bytes_(bytes) {}

    Share(Share&& other) noexcept
        : budget_(std::exchange(other.budget_, nullptr)),
          bytes_(other.bytes_) {}

    Share& operator=(Share&&) = delete;
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    ~Share() {
      if (budget_ != nullptr) {
        budget_->give_back(bytes_);
      }
    }

   private:
    ByteBudget* budget_;  // Not owned; null once moved from.
    std::size_t bytes_;
  };

  explicit ByteBudget(std::size_t limit)
      : limit_(limit) {}

  /// Waits until so many bytes are free, for `patience` at most; nothing: they were not. Whoever
  /// needs more than there is gets all of it, alone.
  [[nodiscard]] std::optional<Share> take(std::size_t bytes, std::chrono::milliseconds patience)
      INJ_EXCLUDES(mutex_);

 private:
  void give_back(std::size_t bytes) INJ_EXCLUDES(mutex_);

  const std::size_t limit_;
  base::Mutex mutex_;
  std::condition_variable_any freed_;
  std::size_t used_ INJ_GUARDED_BY(mutex_) = 0;
};

}  // namespace injector::admission
