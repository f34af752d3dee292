// Decides what becomes of an event before it is written:
//   - the same event again raises the count of the one on the server;
//   - from the tenth different message about one object and reason within ten minutes on, they
//     share one event, its message marked as combined;
//   - about one object, 25 events of a type may come at once and one more every five minutes; the
//     rest is dropped.
// Remembers the 4096 most recent of each. Not thread-safe: it belongs to one thread.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "base/clock.h"
#include "runtime/event_sink.h"
#include "runtime/lru_cache.h"
#include "runtime/rate_limiter.h"

namespace injector::runtime {

/// An event with its name and count, and whether it should be on the server already.
struct PlannedWrite {
  EventRecord event;
  bool repeat = false;  // Patch it; create it only if it is gone.
};

class EventCorrelator {
 public:
  static constexpr std::size_t kRemembered = 4096;
  static constexpr std::size_t kSimilarMessages = 10;
  static constexpr std::chrono::seconds kSimilarWithin{600};
  static constexpr double kSpamBurst = 25;
  static constexpr double kSpamPerSecond = 1.0 / 300;

  /// `event` has everything but name and count. Nothing: drop it.
  [[nodiscard]] std::optional<PlannedWrite> plan(EventRecord event, base::TimePoint now);

 private:
  struct Similar {
    std::set<std::string> messages;  // At most kSimilarMessages - 1 are kept.
    base::TimePoint last;
  };

  struct Written {
    std::string name;
    std::chrono::system_clock::time_point first;
    int count = 0;
  };

  [[nodiscard]] std::string combine_similar(EventRecord& event, base::TimePoint now);
  [[nodiscard]] PlannedWrite count_repeat(EventRecord event, const std::string& key);
  [[nodiscard]] bool is_spam(const EventRecord& event, base::TimePoint now);
  [[nodiscard]] std::string new_name(const EventRecord& event);

  LruCache<std::string, Similar> similar_{kRemembered};
  LruCache<std::string, Written> written_{kRemembered};
  LruCache<std::string, TokenBucket> spam_{kRemembered};
  std::int64_t last_stamp_ = 0;  // Of the newest name, so that no two are equal.
};

}  // namespace injector::runtime
