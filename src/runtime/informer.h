// A local, always current copy of one kind of object, shared by any number of handlers. It joins a
// Reflector, a DeltaFifo and a Store, and promises:
//   - the store already holds what a handler is told of;
//   - each handler hears every change, in order, on its own thread; see handler.h;
//   - a handler that comes late first hears an Added for everything that is there;
//   - objects the server no longer has are reported as Deleted, also if the event was missed;
//   - every resync period, everything in the store is sent again as an Updated of the same version.
//
// Every method may be called from any thread; run() is called once.

#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "runtime/delta_fifo.h"
#include "runtime/handler.h"
#include "runtime/lister_watcher.h"
#include "runtime/loop_context.h"
#include "runtime/object.h"
#include "runtime/reflector.h"
#include "runtime/store.h"

namespace injector::runtime {

struct InformerOptions {
  std::string kind;  // "Pod"; objects of another kind are skipped. Empty: any.
  Transform transform = drop_managed_fields;  // Empty: objects are kept whole.
  base::Duration resync{0};                   // 0: never; otherwise at least a second.
  std::size_t page_size = 500;                // Of a list.
};

class Informer {
 public:
  /// `server` is not owned and outlives the informer.
  Informer(ListerWatcher& server, InformerOptions options, const LoopContext& loop_context);

  /// The reader half. Complete once has_synced().
  [[nodiscard]] const Store& store() const noexcept { return store_; }

  /// Before or after run() began. The Subscription lives as long as the informer.
  const Subscription& add_handler(Handler handler) INJ_EXCLUDES(mutex_);

  /// The store holds all of the first list. Handlers may still be behind: ask their Subscription.
  [[nodiscard]] bool has_synced() const INJ_EXCLUDES(mutex_);

  /// Blocks until has_synced(), or `stop`: then false.
  [[nodiscard]] bool wait_for_sync(const std::stop_token& stop) const INJ_EXCLUDES(mutex_);

  /// How long the server has not been watched; zero while it is. Positive: the store may be stale.
  [[nodiscard]] base::Duration out_of_touch() const noexcept {
    return reflector_.out_of_touch(loop_context_.clock.now());
  }

  /// Follows the server until `stop`. No handler is called after it returned.
  void run(const std::stop_token& stop);

 private:
  void consume(const std::stop_token& stop);
  void resync_forever(const std::stop_token& stop);
  void process(const DeltaFifo::Batch& batch) INJ_EXCLUDES(mutex_);
  [[nodiscard]] Subscription::NotificationPtr apply(const Delta& delta, const std::string& key,
                                                    bool initial) INJ_REQUIRES(mutex_);
  void tell_all(const Subscription::NotificationPtr& notification) INJ_REQUIRES(mutex_);
  void catch_up(Subscription& subscription) const INJ_REQUIRES(mutex_);
  void finish() INJ_EXCLUDES(mutex_);
  [[nodiscard]] std::vector<Subscription*> finish_subscriptions() INJ_EXCLUDES(mutex_);

  const LoopContext loop_context_;
  const base::Duration resync_;
  Store store_;  // Written by the thread in run() only, under mutex_.
  DeltaFifo fifo_;
  Reflector reflector_;

  // Held while the store changes and the change is put in every line, so that add_handler() falls
  // between two changes. Taken before the locks of store_ and of a Subscription, never after.
  mutable base::Mutex mutex_;
  mutable std::condition_variable_any changed_;
  bool synced_ INJ_GUARDED_BY(mutex_) = false;
  bool finished_ INJ_GUARDED_BY(mutex_) = false;  // run() has ended: nobody is told any more.
  std::vector<std::unique_ptr<Subscription>> subscriptions_ INJ_GUARDED_BY(mutex_);  // Only grows.
};

}  // namespace injector::runtime
