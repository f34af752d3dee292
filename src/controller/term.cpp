#include "controller/term.h"

#include <string>
#include <thread>
#include <utility>

#include "core/pod_state.h"

namespace injector::controller {
namespace {

template <class Reconciler>
runtime::ReconcileObject reconcile_with(Reconciler& reconciler) {
  return [&reconciler](const std::string& key, const runtime::ObjectPtr& object,
                       const std::stop_token& stop) {
    return reconciler.reconcile(key, object, stop);
  };
}

base::Result<std::vector<std::string>> pull_secrets_of(kube::RestClient& client,
                                                       const std::string& name_space,
                                                       const std::string& account,
                                                       const std::stop_token& stop) {
  static const kube::Resource service_accounts{"", "v1", "serviceaccounts", "ServiceAccount"};
  INJ_ASSIGN(const auto object, client.get({service_accounts, name_space, account, {}}, stop));
  std::vector<std::string> names;
  const base::Json* secrets = base::find(object, "imagePullSecrets");
  if (secrets != nullptr && secrets->is_array()) {
    for (const base::Json& secret : *secrets) {
      names.emplace_back(base::text_of(base::find(secret, "name")));
    }
  }
  return names;
}

}  // namespace

Term::Term(Context context, const Task& task)
    : context_(std::move(context)) {
  add_units(task);
}

void Term::run(const std::stop_token& stop) {
  std::vector<std::jthread> threads;
  for (const Unit& unit : units_) {
    threads.emplace_back([&loop = *unit.loop, &stop] { loop.run(stop); });
  }
  threads.emplace_back([this, &stop] { follow_namespaces(stop); });
  follow_templates(stop);
}

std::size_t Term::run_once(const std::stop_token& stop) {
  std::size_t failures = 0;
  for (const Unit& unit : units_) {
    failures += unit.loop->run_once(stop);
  }
  return failures;
}

void Term::add_units(const Task& task) {
  switch (task.mode) {
    case Mode::Initializer:
      add_initializer();
      return;
    case Mode::Workloads:
      for (const kube::Resource& resource : task.resources) {
        add_workload(resource);
      }
      return;
    case Mode::Repair:
      add_repair(task.eviction_version);
      return;
  }
}

void Term::add_workload(const kube::Resource& resource) {
  Unit unit;
  unit.patcher = patcher_of(resource);
  unit.workloads =
      std::make_unique<WorkloadReconciler>(context_.deps, *unit.patcher, workload_options());
  auto reconcile = reconcile_with(*unit.workloads);
  add_loop(std::move(unit), resource, {}, std::move(reconcile));
}

void Term::add_initializer() {
  Unit unit;
  unit.patcher = patcher_of(kube::kPods);
  unit.initializer = std::make_unique<InitializerReconciler>(context_.deps, *unit.patcher,
                                                             context_.options.initializer_name);
  auto reconcile = reconcile_with(*unit.initializer);
  add_loop(std::move(unit), kube::kPods, {{"includeUninitialized", "true"}}, std::move(reconcile),
           trim_initialized);
}

void Term::add_repair(const std::string& policy_version) {
  Unit unit;
  unit.evictor = std::make_unique<cluster::RestEvictor>(
      context_.client,
      kube::EvictOptions{.policy_version = policy_version, .dry_run = context_.options.dry_run});
  unit.turns =
      std::make_unique<cluster::ConfigMapTurns>(context_.client, context_.options.our_namespace);
  unit.repair = std::make_unique<RepairReconciler>(
      context_.deps, RepairTools{*unit.evictor, *unit.turns, context_.loop_context.clock},
      context_.options.repair);
  auto reconcile = reconcile_with(*unit.repair);
  add_loop(std::move(unit), kube::kPods, {}, std::move(reconcile), core::trim_pod);
}

void Term::add_loop(Unit unit, const kube::Resource& resource, kube::Query query,
                    runtime::ReconcileObject reconcile, runtime::Transform transform) {
  kube::Selection selection;
  selection.name_space = context_.options.name_space;
  selection.query = std::move(query);
  unit.server =
      std::make_unique<kube::ResourceClient>(context_.client, resource, std::move(selection));
  runtime::LoopOptions options = loop_options(resource);
  options.transform = std::move(transform);
  unit.loop = std::make_unique<runtime::ObjectLoop>(*unit.server, std::move(options),
                                                    std::move(reconcile), context_.loop_context);
  units_.push_back(std::move(unit));
}

std::unique_ptr<cluster::RestPatcher> Term::patcher_of(const kube::Resource& resource) const {
  return std::make_unique<cluster::RestPatcher>(
      context_.client, resource,
      kube::WriteOptions{.dry_run = context_.options.dry_run,
                         .field_manager = context_.options.field_manager});
}

WorkloadOptions Term::workload_options() const {
  WorkloadOptions options;
  options.rollout = context_.options.rollout;
  options.account_secrets = [&client = context_.client](const std::string& name_space,
                                                        const std::string& account,
                                                        const std::stop_token& stop) {
    return pull_secrets_of(client, name_space, account, stop);
  };
  return options;
}

runtime::LoopOptions Term::loop_options(const kube::Resource& resource) const {
  runtime::LoopOptions options;
  options.name = resource.plural;
  options.kind = resource.kind;
  options.workers = context_.options.workers;
  options.resync = context_.options.resync;
  options.metrics = runtime::QueueMetrics(context_.registry, resource.plural);
  return options;
}

// What the decision depends on besides the object: when the template changes, everything is
// reconciled again; when a Namespace does, what is in it.
void Term::follow_templates(const std::stop_token& stop) {
  auto seen = context_.templates.current();
  while (context_.templates.wait_for_change(seen, stop)) {
    seen = context_.templates.current();
    for (const Unit& unit : units_) {
      unit.loop->enqueue_all();
    }
  }
}

void Term::follow_namespaces(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    for (const std::string& name : context_.namespaces.wait_for_changes(stop)) {
      for (const Unit& unit : units_) {
        unit.loop->enqueue_namespace(name);
      }
    }
  }
}

}  // namespace injector::controller
