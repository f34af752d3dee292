// Decides what becomes of an event before it is written:
//   - the same event again raises the count of the one on the server;
//   - from the tenth different message about one object and reason within ten minutes on, they
//     share one event, its message marked as combined;
//   - about one object, 25 events may come at once and one more every five minutes; in one
//     namespace, 1000 at once and one more a second. The rest is dropped.
// Remembers the 4096 most recent of each, by a hash: what it keeps does not grow with what
// strangers write. Not thread-safe: it belongs to one thread.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "base/clock.h"
#include "runtime/event_sink.h"
#include "runtime/keyed_hash.h"
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
  static constexpr double kNamespaceBurst = 1000;
  static constexpr double kNamespacePerSecond = 1;

  /// `key` is a secret of the process, so that nobody can write an event that passes for another.
  explicit EventCorrelator(HashKey key = {})
      : key_(key) {}

  /// `event` has everything but name and count. Nothing: drop it.
  [[nodiscard]] std::optional<PlannedWrite> plan(EventRecord event, base::TimePoint now);

 private:
  using Hash = std::uint64_t;

  struct Similar {
    std::set<Hash> messages;  // Their hashes; at most kSimilarMessages - 1 are kept.
    base::TimePoint last;     // When one of them last came.
  };

  struct Written {
    std::string name;
    std::chrono::system_clock::time_point first;
    int count = 0;  // 0: not yet.
  };

  [[nodiscard]] Hash combine_similar(EventRecord& event, base::TimePoint now);
  [[nodiscard]] PlannedWrite count_repeat(EventRecord event, Hash key);
  [[nodiscard]] bool is_spam(const EventRecord& event, base::TimePoint now);
  [[nodiscard]] std::string new_name(const EventRecord& event);

  const HashKey key_;
  LruCache<Hash, Similar> similar_{kRemembered};
  LruCache<Hash, Written> written_{kRemembered};
  LruCache<Hash, TokenBucket> spam_{kRemembered};
  LruCache<Hash, TokenBucket> namespaces_{kRemembered};
  std::int64_t last_stamp_ = 0;  // Of the newest name, so that no two are equal.
};

}  // namespace injector::runtime
