#include "dashboard/cluster_view.h"

#include <chrono>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "base/json_text.h"
#include "cli/inject_command.h"
#include "cli/unified_diff.h"
#include "core/pod_state.h"
#include "yaml/yaml.h"

namespace injector::dashboard {
namespace {

using base::Json;

Json read(const runtime::Object& object) {
  auto json = base::read_json(object.json);
  return json ? std::move(json).value() : Json::object();
}

// What the server writes and nobody asked for.
Json without_noise(Json object) {
  object.erase("status");
  if (Json* metadata = base::find(object, "metadata"); metadata != nullptr) {
    metadata->erase("managedFields");
  }
  return object;
}

// From what is stored to what would be stored if it were made today.
base::Result<std::string> diff_to_today(const Json& object, const cli::DecisionContext& context) {
  const Json stored = without_noise(object);
  INJ_ASSIGN(const auto change, cli::inject_object(stored, context, cli::Outdated::Replace));
  return change.after ? cli::unified_diff(yaml::write_yaml(stored), yaml::write_yaml(*change.after))
                      : std::string();
}

// Of the first list nobody is told; that is for the table.
template <class Put, class Erase>
runtime::Handler handler_of(Put put, Erase erase) {
  runtime::Handler handler;
  handler.on_add = [put](const runtime::Added& event) {
    put(*event.object, event.in_initial_list ? "" : "added");
  };
  handler.on_update = [put](const runtime::Updated& event) {
    const bool same = event.before->resource_version == event.now->resource_version;
    put(*event.now, same ? "" : "updated");
  };
  handler.on_delete = [erase](const runtime::Deleted& event) { erase(*event.last); };
  return handler;
}

}  // namespace

ClusterView::ClusterView(kube::RestClient& client, const core::Policy& policy, Surroundings first,
                         LiveLookup look_up, LiveFeed& feed,
                         const runtime::LoopContext& loop_context)
    : client_(client),
      look_up_(std::move(look_up)),
      feed_(feed),
      loop_context_(loop_context),
      inventory_({first.in_use, policy, {}}),
      surroundings_(std::make_shared<const Surroundings>(std::move(first))) {
  follow_namespaces();
  follow_pods();
  for (const kube::Resource& kind : {kube::kDeployments, kube::kStatefulSets, kube::kDaemonSets}) {
    follow_workloads(kind);
  }
}

void ClusterView::start() {
  for (cluster::RunningInformer& informer : informers_) {
    informer.start();
  }
}

void ClusterView::follow_namespaces() {
  auto& running =
      informers_.emplace_back(client_, kube::kNamespaces, kube::Selection{},
                              runtime::InformerOptions{.kind = "Namespace"}, loop_context_);
  const auto put = [this](const runtime::Object& object, std::string_view) {
    const core::MetaFacts facts = core::meta_facts(read(object));
    inventory_.put_namespace(object.name, &facts);
    put_all_again(object.name);
  };
  const auto erase = [this](const runtime::Object& object) {
    inventory_.put_namespace(object.name, nullptr);
  };
  running.informer().add_handler(handler_of(put, erase));
}

void ClusterView::follow_pods() {
  auto& running = informers_.emplace_back(
      client_, kube::kPods, kube::Selection{},
      runtime::InformerOptions{.kind = "Pod", .transform = core::trim_pod}, loop_context_);
  const auto erase = [this](const runtime::Object& object) {
    tell(object, "deleted", inventory_.erase("Pod", object.name_space, object.name));
  };
  // A Pod that is being deleted leaves the table at once, and its end is told then.
  const auto put = [this, erase](const runtime::Object& object, std::string_view what) {
    const Json pod = read(object);
    if (base::find(pod, "metadata", "deletionTimestamp") != nullptr) {
      erase(object);
      return;
    }
    tell(object, what, inventory_.put_pod(pod));
  };
  running.informer().add_handler(handler_of(put, erase));
}

void ClusterView::follow_workloads(const kube::Resource& kind) {
  auto& running = informers_.emplace_back(
      client_, kind, kube::Selection{}, runtime::InformerOptions{.kind = kind.kind}, loop_context_);
  const auto put = [this](const runtime::Object& object, std::string_view) {
    inventory_.put_workload(read(object));
  };
  const auto erase = [this, name = kind.kind](const runtime::Object& object) {
    inventory_.erase(name, object.name_space, object.name);
  };
  running.informer().add_handler(handler_of(put, erase));
}

// `name_space` empty: all. A Pod that goes at this moment may come back for as long as its deletion
// is on its way to the handler.
void ClusterView::put_all_again(const std::string& name_space) {
  auto at = std::next(informers_.begin());
  for (bool pods = true; at != informers_.end(); ++at, pods = false) {
    const runtime::Store& store = at->informer().store();
    for (const auto& object :
         name_space.empty() ? store.list() : store.list_namespace(name_space)) {
      pods ? static_cast<void>(inventory_.put_pod(read(*object)))
           : inventory_.put_workload(read(*object));
    }
  }
}

void ClusterView::tell(const runtime::Object& object, std::string_view what,
                       const std::string& state) {
  if (what.empty() || state.empty()) {
    return;
  }
  const auto facts = core::pod_facts(read(object));
  feed_.add_pod({object.name_space, object.name, facts ? to_string(facts.value().owner) : ""}, what,
                state, std::chrono::system_clock::now());
}

void ClusterView::set(Surroundings next) {
  const bool other_template =
      next.in_use.fingerprint() != inventory_.context().templates.fingerprint();
  if (other_template) {
    inventory_.set_templates(next.in_use);
  }
  {
    const base::MutexLock lock(mutex_);
    surroundings_ = std::make_shared<const Surroundings>(std::move(next));
  }
  if (other_template) {
    put_all_again("");
  }
}

ClusterView::SurroundingsPtr ClusterView::surroundings() const {
  const base::MutexLock lock(mutex_);
  return surroundings_;
}

Json ClusterView::templates() const {
  return surroundings()->templates;
}

Json ClusterView::overview() const {
  const SurroundingsPtr now = surroundings();
  Json body = inventory_.summary();
  body["cluster"] = now->cluster;
  body["templates"] = now->templates;
  for (Json& tpl : body["templates"]) {
    tpl["pods"] = body["totals"];
  }
  body["certificates"] = now->certificates;
  body["webhook"] = now->webhook;
  body["notes"] = now->notes;
  return body;
}

base::Result<Json> ClusterView::workload(const std::string& name_space, const std::string& kind,
                                         const std::string& name) const {
  const SurroundingsPtr now = surroundings();
  const cli::DecisionContext context = inventory_.context();
  INJ_ASSIGN(const auto live, look_up_(name_space, kind, name));
  INJ_ASSIGN(const auto report, cli::explain_live(live, now->registration, context));
  INJ_ASSIGN(auto diff, diff_to_today(live.object, context));
  Json body = cli::live_report_json(report);
  body["template"] = now->template_source;
  body["diff"] = std::move(diff);
  return body;
}

ClusterPages ClusterView::pages() {
  return {[this] { return overview(); },
          [this](const RowQuery& query) { return inventory_.page(query); },
          [this](const std::string& name_space, const std::string& kind, const std::string& name) {
            return workload(name_space, kind, name);
          }};
}

}  // namespace injector::dashboard
