#include "cli/uninject_live.h"

#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/objects.h"
#include "core/opt_in.h"
#include "core/pod_facts.h"
#include "core/remove.h"
#include "core/workload.h"

namespace injector::cli {
namespace {

using base::Json;

// What is to be done with one object. Without `wanted` there is nothing to do.
struct Removal {
  std::optional<Json> wanted;
  std::vector<std::string> names;  // Of the containers that go.
  std::string hint;                // What would put them back.
};

base::Error pods_cannot_change() {
  return base::invalid(
      "the containers of a Pod that exists cannot be changed: uninject its workload, or delete the "
      "Pod after its annotation says \"false\"");
}

base::Result<void> check_owner(const Json& object) {
  const Json* owners = base::find(object, "metadata", "ownerReferences");
  if (owners == nullptr || !owners->is_array()) {
    return {};
  }
  for (const Json& owner : *owners) {
    const Json* controller = base::find(owner, "controller");
    if (controller != nullptr && controller->is_boolean() && controller->get<bool>()) {
      return base::invalid(fmt::format(
          "it belongs to {} {}, which would change it back: uninject "
          "that one",
          base::text_of(base::find(owner, "kind")), base::text_of(base::find(owner, "name"))));
    }
  }
  return {};
}

// Who still asks gets the sidecar again, from workloads mode or in the Pods from the webhook.
std::string hint_for(const Json& bare, const core::PodPath& path, const core::Policy& policy) {
  const auto facts = core::pod_facts(bare);
  if (!facts || core::opt_in(facts.value(), nullptr, policy).answer != core::Answer::Yes) {
    return {};
  }
  return fmt::format(
      "{} still asks for the sidecar: the webhook gives it to new Pods, and workloads mode to the "
      "object; set {} to \"false\" there to keep it out",
      path.dotted, policy.key);
}

base::Result<Removal> plan_removal(const Json& object, const core::Policy& policy) {
  const auto path = core::pod_path(object);
  const Json* pod = path ? core::pod_at(object, *path) : nullptr;
  if (pod == nullptr) {
    return base::invalid("no Pod and no pod template in it");
  }
  INJ_ASSIGN(auto status, core::injection_status(*pod, policy));
  if (!status) {
    return Removal{};
  }
  if (path->pointer.empty()) {
    return pods_cannot_change();
  }
  INJ_TRY(check_owner(object));
  Removal removal{object, {}, {}};
  Json& place = *core::pod_at(*removal.wanted, *path);
  place = core::without_injection(std::move(place), *status, policy);
  removal.hint = hint_for(place, *path, policy);
  for (const auto* list : {&status->containers, &status->init_containers}) {
    removal.names.insert(removal.names.end(), list->begin(), list->end());
  }
  return removal;
}

base::Result<std::string> uninject_one(const std::string& name, const LiveObjects& cluster,
                                       const core::Policy& policy, Writing writing,
                                       const Streams& streams) {
  INJ_ASSIGN(const auto object, cluster.get(name));
  INJ_ASSIGN(const auto removal, plan_removal(object, policy));
  if (!removal.wanted) {
    return fmt::format("skipped: not injected (no annotation {})", policy.status_key());
  }
  INJ_TRY(cluster.change(name, object, *removal.wanted));
  if (!removal.hint.empty()) {
    streams.err << fmt::format("{}: note: {}\n", name, removal.hint);
  }
  return fmt::format("uninjected ({}){}", fmt::join(removal.names, ", "),
                     writing == Writing::DryRun ? " (dry run)" : "");
}

}  // namespace

int run_uninject_live(const std::vector<std::string>& names, const LiveObjects& cluster,
                      const core::Policy& policy, Writing writing, const Streams& streams) {
  int result = kDone;
  for (const std::string& name : names) {
    const auto done = uninject_one(name, cluster, policy, writing, streams);
    if (done) {
      streams.err << fmt::format("{}: {}\n", name, done.value());
    } else {
      streams.err << fmt::format("error: {}: {}\n", name, done.error().message);
      result = kFailed;
    }
  }
  return result;
}

}  // namespace injector::cli
