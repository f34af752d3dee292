// What the Namespaces of a cluster say about the sidecar: all of them, followed, or one, asked for.

#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <set>
#include <stop_token>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "cluster/running_informer.h"
#include "core/pod_facts.h"
#include "kube/rest_client.h"
#include "runtime/loop_context.h"
#include "runtime/object.h"

namespace injector::cluster {

/// What the Namespace `name` says, asked of the server now.
[[nodiscard]] base::Result<core::MetaFacts> fetch_namespace(kube::RestClient& client,
                                                            const std::string& name,
                                                            base::Duration timeout);

/// The opt-in of every Namespace, for the decision's namespace rules.
class NamespaceCache {
 public:
  /// Keeps only the labels and annotations named `key`.
  NamespaceCache(kube::RestClient& client, const std::string& key,
                 const runtime::LoopContext& loop_context);

  /// Null: no such Namespace, or nothing known yet.
  [[nodiscard]] std::shared_ptr<const core::MetaFacts> find(const std::string& name)
      INJ_EXCLUDES(mutex_);

  /// How long the Namespaces have not been watched; zero while they are.
  [[nodiscard]] base::Duration out_of_touch() { return running_.informer().out_of_touch(); }

  /// Blocks until there are Namespaces that came or changed since the last call, or since the first
  /// list, and still exist; returns their names. Empty once `stop` is requested.
  [[nodiscard]] std::set<std::string> wait_for_changes(const std::stop_token& stop)
      INJ_EXCLUDES(mutex_);

  [[nodiscard]] bool has_synced() { return running_.informer().has_synced(); }

  [[nodiscard]] bool wait_for_sync(const std::stop_token& stop) {
    return running_.informer().wait_for_sync(stop);
  }

 private:
  // What a Namespace says, read once from the object it came with.
  struct Known {
    runtime::ObjectPtr object;
    std::shared_ptr<const core::MetaFacts> facts;
  };

  void note_change(const std::string& name) INJ_EXCLUDES(mutex_);
  void forget(const std::string& name) INJ_EXCLUDES(mutex_);

  base::Mutex mutex_;
  std::condition_variable_any arrived_;
  std::set<std::string> changed_ INJ_GUARDED_BY(mutex_);       // Of Namespaces that are there.
  std::map<std::string, Known> known_ INJ_GUARDED_BY(mutex_);  // Likewise.
  RunningInformer running_;                                    // Last: its thread uses the others.
};

}  // namespace injector::cluster
