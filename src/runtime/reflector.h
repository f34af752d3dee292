// Keeps a DeltaFifo fed with what happens to one kind of object on the server:
//
//   List ------ok-----> Connect ----ok----> Stream --closed--> Connect
//    ^  ^                  |  ^                |
//    |  '--BackOffThenList-+--|----------------+  ERROR event, closed at once
//    '---------------------+--|----------------'  expired
//                          '--BackOffThenConnect  nobody answers, too many requests
//
//   - the first list takes any cached state ("0"), later ones nothing older than the last version
//     seen, and the newest ("") after the server could not serve that one;
//   - lists come in pages; a list whose continue token expired is fetched again in one piece;
//   - a watch resumes at the last version seen; bookmarks do nothing but advance it;
//   - a version that the server has forgotten means a list at once: the server is there, and every
//     moment without a list is a change unseen. Only a server that forgets again within a second
//     makes us wait;
//   - objects that make no sense are logged and skipped.
//
// Going back in time. A client like this stays monotonic because every relist names the last
// version seen and the server may not answer with an older state. A server that does so anyway
// (a stale replica, a proxy's cache) would make client-go hand out old objects; here such a list is
// refused and asked for again at "", which the server answers from its quorum. That answer is
// always believed, so a server restored from a backup is followed.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "runtime/backoff.h"
#include "runtime/delta_fifo.h"
#include "runtime/lister_watcher.h"
#include "runtime/loop_context.h"
#include "runtime/object.h"

namespace injector::runtime {

struct ReflectorOptions {
  std::string kind;                           // Objects of another kind are skipped. Empty: any.
  Transform transform = drop_managed_fields;  // Empty: objects are kept whole.
  std::size_t page_size = 500;
  BackoffPolicy backoff;
};

/// Used by one thread.
class Reflector {
 public:
  enum class State { List, Connect, Stream, BackOffThenList, BackOffThenConnect };

  /// `server` and `sink` are not owned and outlive the reflector.
  Reflector(ListerWatcher& server, DeltaFifo& sink, ReflectorOptions options,
            const LoopContext& loop_context);

  /// Runs until `stop`, which interrupts every wait.
  void run(const std::stop_token& stop);

  /// One move of the state machine.
  void step(const std::stop_token& stop);

  [[nodiscard]] State state() const noexcept { return state_; }

  /// How long there has been no open watch at `now`; zero while there is one. Any thread.
  [[nodiscard]] base::Duration out_of_touch(base::TimePoint now) const noexcept;

  /// The newest version seen; where the next watch begins.
  [[nodiscard]] const std::string& resource_version() const noexcept { return version_; }

 private:
  struct Listing {
    std::string version;
    std::vector<ObjectPtr> objects;
    std::size_t pages = 0;
  };

  // What each state does; the answer is the next one.
  [[nodiscard]] State list(const std::stop_token& stop);
  [[nodiscard]] State connect(const std::stop_token& stop);
  [[nodiscard]] State read(const std::stop_token& stop);
  [[nodiscard]] State back_off(State then, const std::stop_token& stop);

  [[nodiscard]] std::string list_version() const;
  [[nodiscard]] base::Result<Listing> list_or_newest(const std::stop_token& stop);
  [[nodiscard]] base::Result<Listing> list_at(const std::string& version,
                                              const std::stop_token& stop);
  [[nodiscard]] base::Result<void> fetch(ListOptions options, Listing& into,
                                         const std::stop_token& stop);
  void take_page(ListPage page, Listing& into);
  [[nodiscard]] State accept(Listing listing);

  [[nodiscard]] State apply(WatchEvent event);
  void apply_change(WatchEvent event);
  void advance(std::string_view version, WatchEventType type);
  [[nodiscard]] State closed();
  [[nodiscard]] State broken(const base::Error& error);
  [[nodiscard]] State watch_failed(const base::Error& error);
  [[nodiscard]] State expired();
  [[nodiscard]] State next_state(const std::stop_token& stop);

  [[nodiscard]] base::Result<ObjectPtr> admit(base::Json& object) const;

  ListerWatcher& server_;  // Not owned.
  DeltaFifo& sink_;        // Not owned.
  const ReflectorOptions options_;
  const LoopContext loop_context_;
  std::mt19937_64 random_;
  Backoff backoff_;

  State state_ = State::List;
  std::string version_;         // Empty until the first list.
  bool need_newest_ = false;    // The server could not list at version_.
  bool paged_at_zero_ = false;  // It pages even lists from its cache, so paging costs it nothing.

  std::optional<base::TimePoint> expired_at_;  // When a version was last called expired.

  std::atomic<bool> in_touch_{false};             // The state is Stream.
  std::atomic<base::TimePoint> lost_touch_at_{};  // When it was so last.

  std::unique_ptr<WatchStream> stream_;  // In state Stream only.
  std::string stream_version_;           // Where stream_ began.
  base::TimePoint stream_opened_;
  std::size_t stream_events_ = 0;
};

}  // namespace injector::runtime
