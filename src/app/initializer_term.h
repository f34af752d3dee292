// The loops of one term of leading, or of the whole process without election.

#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include <prometheus/registry.h>

#include "app/cluster.h"
#include "app/config_map_turns.h"
#include "app/initializer_flags.h"
#include "app/initializer_mode.h"
#include "app/rest_patcher.h"
#include "codec/template_store.h"
#include "controller/initializer_reconciler.h"
#include "controller/repair_reconciler.h"
#include "controller/surroundings.h"
#include "controller/workload_reconciler.h"
#include "kube/resource_client.h"
#include "kube/rest_client.h"
#include "runtime/ambient.h"
#include "runtime/object_loop.h"

namespace injector::app {

class Term {
 public:
  /// All that is referred to outlives the term.
  struct Context {
    const InitializerFlags& flags;
    kube::RestClient& client;
    codec::TemplateStore& templates;
    NamespaceCache& namespaces;
    prometheus::Registry& registry;
    controller::Surroundings surroundings;
    runtime::Ambient ambient;
    std::string our_namespace;
  };

  Term(Context context, const Task& task);

  /// Works until `stop`, each loop on threads of its own. Called once.
  void run(const std::stop_token& stop);

  /// Instead: one pass over everything. How many objects came to no good end.
  [[nodiscard]] std::size_t run_once(const std::stop_token& stop);

 private:
  // What belongs to one resource. The loop is last: it uses the others.
  struct Unit {
    std::unique_ptr<RestPatcher> patcher{};
    std::unique_ptr<RestEvictor> evictor{};
    std::unique_ptr<ConfigMapTurns> turns{};
    std::unique_ptr<controller::WorkloadReconciler> workloads{};
    std::unique_ptr<controller::InitializerReconciler> initializer{};
    std::unique_ptr<controller::RepairReconciler> repair{};
    std::unique_ptr<kube::ResourceClient> server{};
    std::unique_ptr<runtime::ObjectLoop> loop{};
  };

  void add_units(const Task& task);
  void add_workload(const kube::Resource& resource);
  void add_initializer();
  void add_repair(const std::string& policy_version);
  void add_loop(Unit unit, const kube::Resource& resource, kube::Query query,
                runtime::ReconcileObject reconcile,
                runtime::Transform transform = runtime::drop_managed_fields);
  [[nodiscard]] std::unique_ptr<RestPatcher> patcher_of(const kube::Resource& resource) const;
  [[nodiscard]] controller::WorkloadOptions workload_options() const;
  [[nodiscard]] runtime::LoopOptions loop_options(const kube::Resource& resource) const;
  void follow_surroundings(const std::stop_token& stop);

  const Context context_;
  std::vector<Unit> units_;
};

}  // namespace injector::app
