// What to do with a workload (Deployment, StatefulSet, DaemonSet, Job, CronJob, or another object
// with a pod template under spec.template) whose pod template may ask for the sidecar. Pure; any
// thread.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "core/decision.h"
#include "core/pod_facts.h"
#include "core/policy.h"
#include "core/template_set.h"

namespace injector::controller {

struct PlanContext {
  const core::TemplateSet& templates;  // Not owned.
  const core::Policy& policy;          // Not owned.
  const core::MetaFacts* name_space;   // Null where nothing is known of the Namespace.
  // The imagePullSecrets of the Pods' service account, to be added with the sidecar's, which would
  // hide them otherwise; unset: they are not known, and the plan warns of it.
  std::optional<std::vector<std::string>> account_secrets{};
};

enum class Rollout { Never, WhenOutdated };

enum class WorkloadAction {
  Nothing,
  Inject,   // It asks for the sidecar and lacks it.
  Replace,  // It has the sidecar of another template.
  Remove,   // It has the sidecar, and its pod template says no.
  Refuse,   // It asks for the sidecar and cannot have it.
};

struct WorkloadPlan {
  WorkloadAction action = WorkloadAction::Nothing;
  core::Reason reason = core::Reason::NotRequested;
  std::string detail;  // One sentence for a person.
  std::vector<core::Warning> warnings;
  std::vector<std::string> containers;  // The names it adds, or removes.
  std::string service_account;          // Of the Pods.
  base::Json patch;  // In the object's patch::patch_style(); for the writing actions.
};

/// The patch names the resource version of `object`, and is checked: applied to `object` it gives
/// what was meant. An Error says what in the object cannot be worked with.
///
/// A sidecar is removed only where the pod template itself says no. A key that is merely gone, or a
/// Namespace that says no, leaves what is there: neither asks for a rollout of anything.
[[nodiscard]] base::Result<WorkloadPlan> plan_workload(const base::Json& object,
                                                       const PlanContext& context, Rollout rollout);

/// The containers that `plan` adds, in the order they stand in the Pod.
[[nodiscard]] std::vector<std::string> container_names(const core::Plan& plan);

/// The patch from `original` to `wanted` in its style under the version of `original`; fails where
/// applying it would not give `wanted`.
[[nodiscard]] base::Result<base::Json> guarded_patch(const base::Json& original,
                                                     const base::Json& wanted);

}  // namespace injector::controller
