// The loops of one term of leading, or of the whole process without election.

#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include <prometheus/registry.h>

#include "base/clock.h"
#include "cluster/config_map_turns.h"
#include "cluster/namespace_cache.h"
#include "cluster/patcher.h"
#include "controller/initializer_reconciler.h"
#include "controller/mode.h"
#include "controller/reconciler_deps.h"
#include "controller/repair_reconciler.h"
#include "controller/workload_reconciler.h"
#include "kube/resource_client.h"
#include "kube/rest_client.h"
#include "runtime/loop_context.h"
#include "runtime/object_loop.h"
#include "template/store.h"

namespace injector::controller {

struct TermOptions {
  std::string name_space;        // The only one to look after; empty: all.
  std::string our_namespace;     // Where what has to be remembered is kept.
  std::string initializer_name;  // For Mode::Initializer.
  std::string field_manager;     // Of what is written.
  std::size_t workers = 2;       // For each resource.
  base::Duration resync{0};      // 0: never.
  Rollout rollout = Rollout::Never;
  RepairOptions repair{};
  bool dry_run = false;
};

class Term {
 public:
  /// All that is referred to outlives the term.
  struct Context {
    TermOptions options;
    kube::RestClient& client;
    templates::TemplateStore& templates;
    cluster::NamespaceCache& namespaces;
    prometheus::Registry& registry;
    ReconcilerDeps deps;
    runtime::LoopContext loop_context;
  };

  Term(Context context, const Task& task);

  /// Works until `stop`, each loop on threads of its own. Called once.
  void run(const std::stop_token& stop);

  /// Instead: one pass over everything. How many objects came to no good end.
  [[nodiscard]] std::size_t run_once(const std::stop_token& stop);

 private:
  // What belongs to one resource. The loop is last: it uses the others.
  struct Unit {
    std::unique_ptr<cluster::RestPatcher> patcher{};
    std::unique_ptr<cluster::RestEvictor> evictor{};
    std::unique_ptr<cluster::ConfigMapTurns> turns{};
    std::unique_ptr<WorkloadReconciler> workloads{};
    std::unique_ptr<InitializerReconciler> initializer{};
    std::unique_ptr<RepairReconciler> repair{};
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
  [[nodiscard]] std::unique_ptr<cluster::RestPatcher> patcher_of(
      const kube::Resource& resource) const;
  [[nodiscard]] WorkloadOptions workload_options() const;
  [[nodiscard]] runtime::LoopOptions loop_options(const kube::Resource& resource) const;
  void follow_templates(const std::stop_token& stop);
  void follow_namespaces(const std::stop_token& stop);

  const Context context_;
  std::vector<Unit> units_;
};

}  // namespace injector::controller
