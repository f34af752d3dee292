#include "controller/repair_plan.h"

#include <utility>

#include "core/remove.h"

namespace injector::controller {
namespace {

using base::Json;

bool has_ended(const Json& pod) {
  const std::string_view phase = base::text_of(base::find(pod, "status", "phase"));
  return phase == "Succeeded" || phase == "Failed" ||
         base::find(pod, "metadata", "deletionTimestamp") != nullptr;
}

std::string controller_of(const Json& pod) {
  const Json* owners = base::find(pod, "metadata", "ownerReferences");
  if (owners == nullptr || !owners->is_array()) {
    return {};
  }
  for (const Json& owner : *owners) {
    const Json* controls = base::find(owner, "controller");
    if (controls != nullptr && controls->is_boolean() && controls->get<bool>()) {
      return std::string(base::text_of(base::find(owner, "uid")));
    }
  }
  return {};
}

}  // namespace

base::Result<RepairPlan> plan_repair(const Json& pod, const PlanContext& context) {
  if (has_ended(pod)) {
    return RepairPlan{};
  }
  INJ_ASSIGN(const auto facts, core::pod_facts(pod));
  return RepairPlan{core::pod_state(facts, context.name_space, context.templates, context.policy),
                    controller_of(pod)};
}

Json probe_pod(const Json& pod, const core::Policy& policy) {
  Json bare = pod;
  const auto status = core::injection_status(pod, policy);
  if (status && status.value()) {
    bare = core::without_injection(std::move(bare), *status.value(), policy);
  }
  Json probe = Json::object();
  probe["apiVersion"] = "v1";
  probe["kind"] = "Pod";
  probe["metadata"]["generateName"] = "envoy-initializer-probe-";
  for (const char* field : {"namespace", "labels", "annotations"}) {
    if (const Json* value = base::find(std::as_const(bare), "metadata", field)) {
      probe["metadata"][field] = *value;
    }
  }
  if (const Json* spec = base::find(std::as_const(bare), "spec")) {
    probe["spec"] = *spec;
    probe["spec"].erase("nodeName");
  }
  return probe;
}

}  // namespace injector::controller
