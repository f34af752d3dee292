// The bytes of all request bodies that are in memory at a time, bounded: many large bodies at once
// must not exhaust the process. The first bytes of each body are not counted, so that ordinary
// requests are served whatever the large ones do. Thread-safe.

#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <utility>

namespace injector::http {

class BodyBudget {
 public:
  static constexpr std::size_t kFree = std::size_t{32} << 10U;  // Of each body.

  explicit BodyBudget(std::size_t limit) noexcept
      : limit_(limit) {}

  [[nodiscard]] std::size_t used() const noexcept { return used_.load(std::memory_order_relaxed); }

  /// True if a body of `size` bytes would fit now.
  [[nodiscard]] bool fits(std::size_t size) const noexcept {
    return counted(size) <= limit_ - std::min(limit_, used());
  }

  /// What one body holds of the budget; given back by its end.
  class Share {
   public:
    explicit Share(BodyBudget& budget) noexcept
        : budget_(budget) {}

    ~Share() { release(); }

    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    /// The body has this many bytes by now. False: there is no room for them.
    [[nodiscard]] bool resize(std::size_t size) noexcept {
      const std::size_t wanted = counted(size);
      if (wanted <= held_) {
        return true;
      }
      const std::size_t more = wanted - held_;
      if (budget_.used_.fetch_add(more) + more > budget_.limit_) {
        budget_.used_.fetch_sub(more);
        return false;
      }
      held_ = wanted;
      return true;
    }

    void release() noexcept {
      if (held_ > 0) {
        budget_.used_.fetch_sub(std::exchange(held_, 0));
      }
    }

   private:
    BodyBudget& budget_;  // Not owned; outlives the share.
    std::size_t held_ = 0;
  };

 private:
  [[nodiscard]] static std::size_t counted(std::size_t size) noexcept {
    return size - std::min(size, kFree);
  }

  const std::size_t limit_;
  std::atomic<std::size_t> used_{0};
};

}  // namespace injector::http
