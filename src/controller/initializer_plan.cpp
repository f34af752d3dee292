#include "controller/initializer_plan.h"

#include <utility>

#include <fmt/format.h>

#include "core/inject.h"
#include "core/render.h"
#include "patch/directives.h"
#include "runtime/object.h"

namespace injector::controller {
namespace {

using base::Json;

constexpr int kUnprocessable = 422;

bool is_our_turn(const Json& pod, std::string_view initializer) {
  const Json* initializers = base::find(pod, "metadata", "initializers");
  if (initializers == nullptr || base::find(*initializers, "result") != nullptr) {
    return false;
  }
  const Json* pending = base::find(*initializers, "pending");
  return pending != nullptr && pending->is_array() && !pending->empty() &&
         base::text_of(base::find(pending->front(), "name")) == initializer;
}

Json under_version_of(const Json& pod, Json initializers) {
  Json patch = Json::object();
  patch["metadata"]["resourceVersion"] =
      base::text_of(base::find(pod, "metadata", "resourceVersion"));
  patch["metadata"]["initializers"] = std::move(initializers);
  return patch;
}

// Never `initializers: null` or a whole list: both would drop the entries of others.
Json without_entry(std::string_view initializer) {
  Json entry = Json::object();
  entry[std::string(patch::kPatchDirective)] = patch::kDelete;
  entry["name"] = initializer;
  Json initializers = Json::object();
  initializers["pending"] = Json::array();
  initializers["pending"].push_back(std::move(entry));
  return initializers;
}

InitializerPlan release(const Json& pod, std::string_view initializer, core::Decision decision) {
  return {InitializerAction::Release,
          decision.reason,
          std::move(decision.detail),
          {},
          under_version_of(pod, without_entry(initializer)),
          std::move(decision.warnings)};
}

InitializerPlan inject(const Json& pod, std::string_view initializer, core::Decision decision) {
  auto patch = guarded_patch(pod, core::patched_object(pod, decision.plan));
  if (!patch) {
    return refuse_pod(pod, decision.reason, std::move(patch).error().message);
  }
  patch.value()["metadata"]["initializers"] = without_entry(initializer);
  return {InitializerAction::Inject,      decision.reason,          std::move(decision.detail),
          container_names(decision.plan), std::move(patch).value(), std::move(decision.warnings)};
}

}  // namespace

InitializerPlan plan_initializer(const Json& pod, std::string_view initializer,
                                 const PlanContext& context) {
  if (!is_our_turn(pod, initializer)) {
    return {};
  }
  const auto facts = core::pod_facts(pod);
  if (!facts) {
    return refuse_pod(pod, core::Reason::NotAPod, facts.error().message);
  }
  core::Decision decision =
      core::inject(facts.value(), context.name_space, context.templates, context.policy);
  switch (decision.outcome) {
    case core::Outcome::Inject:
      return inject(pod, initializer, std::move(decision));
    case core::Outcome::Refuse:
      return refuse_pod(pod, decision.reason, std::move(decision.detail));
    case core::Outcome::Skip:
      break;
  }
  return release(pod, initializer, std::move(decision));
}

InitializerPlan plan_without_template(const Json& pod, std::string_view initializer,
                                      const core::Policy& policy,
                                      const core::MetaFacts* name_space) {
  const core::TemplateSet nothing;
  InitializerPlan plan = plan_initializer(pod, initializer, {nothing, policy, name_space});
  return plan.reason == core::Reason::UnknownTemplate ? InitializerPlan{} : plan;
}

void trim_initialized(Json& pod) {
  if (base::find(std::as_const(pod), "metadata", "initializers") != nullptr) {
    runtime::drop_managed_fields(pod);
    return;
  }
  Json kept = Json::object();
  for (const char* field : {"apiVersion", "kind"}) {
    if (const Json* value = base::find(std::as_const(pod), field)) {
      kept[field] = *value;
    }
  }
  for (const char* field : {"name", "namespace", "uid", "resourceVersion"}) {
    if (const Json* value = base::find(std::as_const(pod), "metadata", field)) {
      kept["metadata"][field] = *value;
    }
  }
  pod = std::move(kept);
}

InitializerPlan refuse_pod(const Json& pod, core::Reason reason, std::string why) {
  Json result = Json::object();
  result["status"] = "Failure";
  result["reason"] = "Invalid";
  result["message"] = fmt::format("envoy-initializer: {}", why);
  result["code"] = kUnprocessable;
  Json initializers = Json::object();
  initializers["result"] = std::move(result);
  return {InitializerAction::Refuse,
          reason,
          std::move(why),
          {},
          under_version_of(pod, std::move(initializers))};
}

}  // namespace injector::controller
