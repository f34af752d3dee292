// What an informer tells those who listen, and the one thread that tells it to one of them.
//   - events come in the order the store changed, one at a time, on the subscription's own thread;
//   - events wait in an unbounded line: a slow handler delays nobody but itself;
//   - a handler that throws is logged, and gets the next event.

#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <variant>

#include "base/log.h"
#include "base/mutex.h"
#include "runtime/object.h"

namespace injector::runtime {

struct Added {
  ObjectPtr object;
  bool in_initial_list = false;  // It was there before we looked: it did not just appear.
};

/// A resync and a new list send `now` with the version of `before`: whoever cares only for changes
/// compares. Another uid: the object was deleted and created again while we could not see it.
struct Updated {
  ObjectPtr before;
  ObjectPtr now;
  bool is_resync = false;  // Nothing was heard from the server: it is time to look again.
};

struct Deleted {
  ObjectPtr last;                 // Never null.
  bool final_state_known = true;  // False: we missed the event; `last` may be out of date.
};

/// Members that are empty are not called. A handler may call anything but Informer::run.
struct Handler {
  std::function<void(const Added&)> on_add;
  std::function<void(const Updated&)> on_update;
  std::function<void(const Deleted&)> on_delete;
};

/// One handler and its line of events. The const half may be used from any thread; the informer
/// that owns it has the rest.
class Subscription {
 public:
  Subscription(Handler handler, base::Logger log);

  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;

  /// Stops and joins: finishes the running call, drops what still waits.
  ~Subscription() = default;

  /// The handler has been through every object of the first list.
  [[nodiscard]] bool has_synced() const noexcept { return synced_.load(); }

  struct InitialListDone {};

  using Notification = std::variant<Added, Updated, Deleted, InitialListDone>;
  using NotificationPtr = std::shared_ptr<const Notification>;  // One for all lines it stands in.

  void push(NotificationPtr notification) INJ_EXCLUDES(mutex_);

  /// No call begins after this returned. Not from inside the handler.
  void stop();

 private:
  void run(const std::stop_token& stop);
  /// Null: stop.
  [[nodiscard]] NotificationPtr next(const std::stop_token& stop) INJ_EXCLUDES(mutex_);
  void deliver(const Notification& notification);

  void tell(const Added& event) const;
  void tell(const Updated& event) const;
  void tell(const Deleted& event) const;
  void tell(const InitialListDone& mark);

  const Handler handler_;
  const base::Logger log_;
  std::atomic<bool> synced_ = false;

  base::Mutex mutex_;
  std::condition_variable_any arrived_;
  std::deque<NotificationPtr> line_ INJ_GUARDED_BY(mutex_);  // None is null.

  std::jthread thread_;  // Last: it uses everything above.
};

}  // namespace injector::runtime
