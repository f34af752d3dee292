#include "cli/inject_command.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

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
         reason == Reason::VolumeConflict || reason == Reason::UnknownTemplate ||
         reason == Reason::TemplateConflict || reason == Reason::OverrideNotAllowed ||
         reason == Reason::MissingValue;
}

Json injected(Json object, const DecidedObject& decided) {
  Json& pod = *core::pod_at(object, decided.path);
  pod = core::patched_object(std::move(pod), decided.decision.plan);
  return object;
}

std::vector<std::string> warnings_of(const core::Decision& decision) {
  std::vector<std::string> lines;
  for (const core::Warning& warning : decision.warnings) {
    if (warning.message != decision.detail) {
      lines.push_back(to_string(warning));
    }
  }
  return lines;
}

ObjectChange change_by(const DecidedObject& decided) {
  ObjectChange change;
  change.handled = decided.decision.reason != Reason::NotAPod;
  change.report = report_of(decided.decision);
  change.unmet = decided.asked_in_vain || asked_in_vain(decided.decision);
  change.refused = decided.decision.outcome == Outcome::Refuse;
  change.warnings = warnings_of(decided.decision);
  return change;
}

// The status of an object whose sidecar is of another template.
std::optional<core::Status> outdated_status(const Json& object, const DecidedObject& decided,
                                            const DecisionContext& context) {
  if (decided.decision.reason != Reason::AlreadyInitialized) {
    return std::nullopt;
  }
  const auto status = core::injection_status(*core::pod_at(object, decided.path), context.policy);
  const bool outdated =
      status && status.value() &&
      !core::is_current(*status.value(), context.templates, decided.facts.name_space);
  return outdated ? status.value() : std::nullopt;
}

// As uninject and inject in one. It has the sidecar, so it wants the new one unless it says no.
base::Result<ObjectChange> replace_sidecar(const Json& object, const core::Status& status,
                                           const DecisionContext& context,
                                           const core::PodPath& path) {
  Json bare = object;
  Json& place = *core::pod_at(bare, path);
  place = core::without_injection(std::move(place), status, context.policy);
  core::Policy policy = context.policy;
  policy.inject_by_default = true;
  INJ_ASSIGN(auto decided, decide_object(bare, context, policy));
  ObjectChange change = change_by(*decided);
  if (decided->decision.outcome == Outcome::Inject) {
    change.report = fmt::format("updated ({})", decided->decision.detail);
    change.after = injected(bare, *decided);
    change.through = std::move(bare);
  } else {
    change.report += "; its outdated sidecar stays";
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
  INJ_ASSIGN(auto status, core::injection_status(*pod, policy));
  if (!status) {
    change.report = fmt::format("skipped: not injected (no annotation {})", policy.status_key());
    return change;
  }
  Json after = object;
  Json& place = *core::pod_at(after, *path);
  place = core::without_injection(std::move(place), *status, policy);
  change.after = std::move(after);
  change.report = fmt::format("uninjected ({})", names_of(*status));
  return change;
}

}  // namespace

base::Result<ObjectChange> inject_object(const Json& object, const DecisionContext& context,
                                         Outdated outdated) {
  INJ_ASSIGN(auto result, decide_object(object, context));
  if (!result) {
    return ObjectChange();
  }
  const DecidedObject& decided = *result;
  const auto old = outdated_status(object, decided, context);
  if (old && outdated == Outdated::Replace) {
    return replace_sidecar(object, *old, context, decided.path);
  }
  ObjectChange change = change_by(decided);
  if (old) {
    change.report += fmt::format(
        ": the sidecar came from another template ({}, now {}); --update replaces it",
        old->versions(), core::current_versions(*old, context.templates, decided.facts.name_space));
  }
  if (decided.decision.outcome == Outcome::Inject) {
    change.after = injected(object, decided);
    change.json_patch =
        core::json_patch(decided.facts, decided.decision.plan, decided.path.pointer);
  }
  return change;
}

int run_inject(const RewriteOptions& options, const DecisionContext& context,
               const Streams& streams, Outdated outdated) {
  return rewrite_objects(
      options, [&](const Json& object) { return inject_object(object, context, outdated); },
      streams);
}

int run_uninject(const RewriteOptions& options, const core::Policy& policy,
                 const Streams& streams) {
  return rewrite_objects(
      options, [&](const Json& object) { return uninject_object(object, policy); }, streams);
}

}  // namespace injector::cli
