// One kind of object, followed and reconciled: informer, queue of keys, workers.
//   - a key is queued when its object appears, changes or goes, not when a relist or a resync sends
//     the same version again;
//   - every `resync` all keys are queued once more: nothing but the local copy is asked for that,
//     so an object that is as it should be costs no request.

#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "runtime/ambient.h"
#include "runtime/controller.h"
#include "runtime/informer.h"
#include "runtime/lister_watcher.h"
#include "runtime/object.h"
#include "runtime/queue_metrics.h"

namespace injector::controller {

struct LoopOptions {
  std::string name;  // In logs and metrics: "deployments".
  std::string kind;  // "Deployment".
  std::size_t workers = 1;
  base::Duration resync{0};  // 0: never.
  runtime::QueueMetrics metrics;
  runtime::Transform transform = runtime::drop_managed_fields;
};

/// `object` is null if it is gone. Called from several threads, for different keys.
using ReconcileObject = std::function<runtime::Outcome(
    const std::string& key, const runtime::ObjectPtr& object, const std::stop_token& stop)>;

class ObjectLoop {
 public:
  /// `server` is not owned and outlives the loop.
  ObjectLoop(runtime::ListerWatcher& server, LoopOptions options, ReconcileObject reconcile,
             const runtime::Ambient& ambient);

  /// Works until `stop`. Called once.
  void run(const std::stop_token& stop);

  // Any thread.

  /// Looks at everything again: the template changed.
  void enqueue_all();
  /// Looks at everything in a Namespace again: what that says changed.
  void enqueue_namespace(std::string_view name_space);

  [[nodiscard]] bool has_synced() const { return informer_.has_synced(); }

 private:
  void enqueue(const std::vector<runtime::ObjectPtr>& objects);
  void resync_forever(const std::stop_token& stop);

  const base::Duration resync_;
  const runtime::Ambient ambient_;
  runtime::Informer informer_;
  runtime::Controller controller_;
};

}  // namespace injector::controller
