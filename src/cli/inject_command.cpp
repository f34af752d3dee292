#include "cli/inject_command.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/remove.h"
#include "core/render.h"

namespace injector::cli {
namespace {

using base::Json;
using core::Outcome;
using core::Reason;

std::string report_of(const core::Decision& decision) {
  if (decision.outcome == Outcome::Inject) {
    return fmt::format("injected ({})", decision.detail);
  }
  return fmt::format("{}: {} ({})", decision.outcome == Outcome::Refuse ? "refused" : "skipped",
                     to_string(decision.reason), decision.detail);
}

bool asked_in_vain(const core::Decision& decision) {
  const Reason reason = decision.reason;
  return reason == Reason::UnrecognizedValue || reason == Reason::HostNetwork ||
         reason == Reason::WindowsPod || reason == Reason::MirrorPod ||
         reason == Reason::VolumeConflict;
}

Json injected(Json object, const DecidedObject& decided) {
  Json& pod = *core::pod_at(object, decided.path);
  pod = core::patched_object(std::move(pod), decided.decision.plan);
  return object;
}

base::Result<ObjectChange> inject_object(const Json& object, const DecisionContext& context) {
  auto result = decide_object(object, context);
  if (!result) {
    return std::move(result).error();
  }
  if (!result.value()) {
    return ObjectChange();
  }
  const DecidedObject& decided = *result.value();
  ObjectChange change;
  change.handled = true;
  change.report = report_of(decided.decision);
  change.unmet = asked_in_vain(decided.decision);
  for (const core::Warning& warning : decided.decision.warnings) {
    if (warning.message != decided.decision.detail) {
      change.warnings.push_back(fmt::format("{}: {}", to_string(warning.code), warning.message));
    }
  }
  if (decided.decision.outcome == Outcome::Inject) {
    change.after = injected(object, decided);
    change.json_patch =
        core::json_patch(decided.facts, decided.decision.plan, decided.path.pointer);
  }
  return change;
}

std::string names_of(const core::Status& status) {
  std::string names;
  for (const auto* list : {&status.containers, &status.init_containers}) {
    for (const std::string& name : *list) {
      names += (names.empty() ? "" : ", ") + name;
    }
  }
  return names;
}

base::Result<ObjectChange> uninject_object(const Json& object, const core::Policy& policy) {
  ObjectChange change;
  const auto path = core::pod_path(object);
  const Json* pod = path ? core::pod_at(object, *path) : nullptr;
  if (pod == nullptr) {
    return change;
  }
  change.handled = true;
  auto status = core::injection_status(*pod, policy);
  if (!status) {
    return std::move(status).error();
  }
  if (!status.value()) {
    change.report = fmt::format("skipped: not injected (no annotation {})", policy.status_key());
    return change;
  }
  Json after = object;
  Json& place = *core::pod_at(after, *path);
  place = core::without_injection(std::move(place), *status.value(), policy);
  change.after = std::move(after);
  change.report = fmt::format("uninjected ({})", names_of(*status.value()));
  return change;
}

}  // namespace

int run_inject(const RewriteOptions& options, const DecisionContext& context,
               const Streams& streams) {
  return rewrite_objects(
      options, [&](const Json& object) { return inject_object(object, context); }, streams);
}

int run_uninject(const RewriteOptions& options, const core::Policy& policy,
                 const Streams& streams) {
  return rewrite_objects(
      options, [&](const Json& object) { return uninject_object(object, policy); }, streams);
}

}  // namespace injector::cli
