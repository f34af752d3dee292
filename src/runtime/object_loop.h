// One kind of object, followed and reconciled: informer, queue of keys, workers.
//   - a key is queued when its object appears, changes or goes, not when a new list holds the same
//     version again;
//   - nothing is reconciled before the first list is complete: no object means that it is gone;
//   - every `resync` the informer sends all objects once more, and their keys are queued: nothing
//     but the local copy is asked for that, so an object that is as it should be costs no request.

#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "runtime/controller.h"
#include "runtime/informer.h"
#include "runtime/lister_watcher.h"
#include "runtime/loop_context.h"
#include "runtime/object.h"
#include "runtime/queue_metrics.h"

namespace injector::runtime {

struct LoopOptions {
  std::string name{};  // In logs and metrics: "deployments".
  std::string kind{};  // "Deployment".
  std::size_t workers = 1;
  base::Duration resync{0};  // 0: never; otherwise at least a second.
  QueueMetrics metrics{};    // None by default.
  Transform transform = drop_managed_fields;
};

/// `object` is null if it is gone. Called from several threads, for different keys.
using ReconcileObject = std::function<Outcome(const std::string& key, const ObjectPtr& object,
                                              const std::stop_token& stop)>;

class ObjectLoop {
 public:
  /// `server` is not owned and outlives the loop.
  ObjectLoop(ListerWatcher& server, LoopOptions options, ReconcileObject reconcile,
             const LoopContext& loop_context);

  /// Works until `stop`. Called once.
  void run(const std::stop_token& stop);

  /// One pass over everything that the server has, instead of run(): each object is reconciled, and
  /// again a few times where that has to be retried. How many came to no good end; all of them if
  /// `stop` came first.
  [[nodiscard]] std::size_t run_once(const std::stop_token& stop);

  // Any thread.

  /// Has `key` reconciled, whether or not there is such an object: how what was left behind by
  /// objects that went while nobody looked is found.
  void enqueue(std::string key) { controller_.enqueue(std::move(key)); }

  /// Looks at every object again: something they all depend on changed.
  void enqueue_all();

  /// Looks at everything in a Namespace again: what that says changed.
  void enqueue_namespace(std::string_view name_space);

  [[nodiscard]] bool has_synced() const { return informer_.has_synced(); }

 private:
  [[nodiscard]] bool reconcile_patiently(const std::string& key, const std::stop_token& stop);
  void enqueue_each(const std::vector<ObjectPtr>& objects);

  const std::string name_;
  const LoopContext loop_context_;
  Informer informer_;
  Controller controller_;
};

}  // namespace injector::runtime
