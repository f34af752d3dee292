#include "app/controller_term.h"

#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "core/pod_state.h"

namespace injector::app {
namespace {

using namespace std::chrono_literals;

constexpr base::Duration kLook = 100ms;  // How soon another template or Namespace is acted on.

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

/// At what is in `namespaces`; null: at everything.
void look_again(runtime::ObjectLoop& loop, const std::set<std::string>* namespaces) {
  if (namespaces == nullptr) {
    loop.enqueue_all();
    return;
  }
  for (const std::string& name : *namespaces) {
    loop.enqueue_namespace(name);
  }
}

}  // namespace

Term::Term(Context context, const Task& task)
    : context_(std::move(context)) {
  add_units(task);
}

void Term::run(const std::stop_token& stop) {
  std::vector<std::jthread> threads;
  threads.reserve(units_.size());
  for (const Unit& unit : units_) {
    threads.emplace_back([&loop = *unit.loop, &stop] { loop.run(stop); });
  }
  follow_surroundings(stop);
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
  unit.workloads = std::make_unique<controller::WorkloadReconciler>(context_.deps, *unit.patcher,
                                                                    workload_options());
  auto reconcile = reconcile_with(*unit.workloads);
  add_loop(std::move(unit), resource, {}, std::move(reconcile));
}

void Term::add_initializer() {
  Unit unit;
  unit.patcher = patcher_of(kube::kPods);
  unit.initializer = std::make_unique<controller::InitializerReconciler>(
      context_.deps, *unit.patcher, context_.flags.initializer_name);
  auto reconcile = reconcile_with(*unit.initializer);
  add_loop(std::move(unit), kube::kPods, {{"includeUninitialized", "true"}}, std::move(reconcile),
           controller::trim_initialized);
}

void Term::add_repair(const std::string& policy_version) {
  Unit unit;
  unit.evictor = std::make_unique<cluster::RestEvictor>(
      context_.client,
      kube::EvictOptions{.policy_version = policy_version, .dry_run = context_.flags.dry_run});
  unit.turns = std::make_unique<cluster::ConfigMapTurns>(context_.client, context_.our_namespace);
  controller::RepairOptions options;
  options.evict_missing = context_.flags.evicts_missing();
  options.evict_outdated = context_.flags.evicts_outdated();
  options.evictions_per_minute = context_.flags.evict_per_minute;
  unit.repair = std::make_unique<controller::RepairReconciler>(
      context_.deps,
      controller::RepairTools{*unit.evictor, *unit.turns, context_.loop_context.clock},
      std::move(options));
  auto reconcile = reconcile_with(*unit.repair);
  add_loop(std::move(unit), kube::kPods, {}, std::move(reconcile), core::trim_pod);
}

void Term::add_loop(Unit unit, const kube::Resource& resource, kube::Query query,
                    runtime::ReconcileObject reconcile, runtime::Transform transform) {
  kube::Selection selection;
  selection.name_space = context_.flags.cluster.options.name_space;
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
      kube::WriteOptions{.dry_run = context_.flags.dry_run, .field_manager = kOurName});
}

controller::WorkloadOptions Term::workload_options() const {
  controller::WorkloadOptions options;
  options.rollout =
      context_.flags.rollout ? controller::Rollout::WhenOutdated : controller::Rollout::Never;
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
  options.workers = context_.flags.workers;
  options.resync = context_.flags.resync_period();
  options.metrics = runtime::QueueMetrics(context_.registry, resource.plural);
  return options;
}

// What the decision depends on besides the object: when the template changes, everything is looked
// at again; when a Namespace does, what is in it.
void Term::follow_surroundings(const std::stop_token& stop) {
  auto seen = context_.templates.current();
  while (context_.loop_context.sleeper.sleep(kLook, stop)) {
    const auto namespaces = context_.namespaces.take_changed();
    const auto before = std::exchange(seen, context_.templates.current());
    for (const Unit& unit : units_) {
      look_again(*unit.loop, seen == before ? &namespaces : nullptr);
    }
  }
}

}  // namespace injector::app
