// What to do with a workload (Deployment, StatefulSet, DaemonSet, Job, CronJob) whose pod template
// may ask for the sidecar. Pure; any thread.

#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "core/decision.h"
#include "core/pod_facts.h"
#include "core/policy.h"
#include "core/template.h"

namespace injector::controller {

struct PlanContext {
  const core::Template& tpl;          // Not owned.
  const core::Policy& policy;         // Not owned.
  const core::MetaFacts* name_space;  // Null where nothing is known of the Namespace.
};

enum class Rollout { Never, WhenOutdated };

enum class WorkloadAction {
  Nothing,
  Inject,   // It asks for the sidecar and lacks it.
  Replace,  // It has the sidecar of another template.
  Refuse,   // It asks for the sidecar and cannot have it.
};

struct WorkloadPlan {
  WorkloadAction action = WorkloadAction::Nothing;
  core::Reason reason = core::Reason::NotRequested;
  std::string detail;  // One sentence for a person.
  std::vector<core::Warning> warnings;
  std::vector<std::string> containers;  // The names it adds.
  base::Json patch;                     // Strategic merge, for Inject and Replace.
};

/// The patch names the resource version of `object`, and is checked: applied to `object` it gives
/// what was meant. An Error says what in the object cannot be worked with.
[[nodiscard]] base::Result<WorkloadPlan> plan_workload(const base::Json& object,
                                                       const PlanContext& context, Rollout rollout);

/// The containers that `plan` adds, in the order they stand in the Pod.
[[nodiscard]] std::vector<std::string> container_names(const core::Plan& plan);

/// The strategic merge patch from `original` to `wanted` under the version of `original`; fails
/// where applying it would not give `wanted`.
[[nodiscard]] base::Result<base::Json> guarded_patch(const base::Json& original,
                                                     const base::Json& wanted);

}  // namespace injector::controller
