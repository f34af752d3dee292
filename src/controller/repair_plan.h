// What to do about a Pod that exists and has not the sidecar it should have. A container cannot be
// added to it any more: all that can be done is to say so, or to have it made anew. Pure; any
// thread.

#pragma once

#include <string>

#include "base/json.h"
#include "base/result.h"
#include "controller/workload_plan.h"
#include "core/pod_state.h"

namespace injector::controller {

struct RepairPlan {
  core::PodState state = core::PodState::NotAsked;
  std::string owner;  // The uid of the controller that will make it anew; empty: nobody will.
};

/// Pods that have ended or are being deleted are NotAsked: there is nothing to repair.
[[nodiscard]] base::Result<RepairPlan> plan_repair(const base::Json& pod,
                                                   const PlanContext& context);

/// A Pod like `pod` as its owner would make it now, to be created in a dry run: without the
/// sidecar, the node and the name.
[[nodiscard]] base::Json probe_pod(const base::Json& pod, const core::Policy& policy);

}  // namespace injector::controller
