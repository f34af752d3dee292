// What to do with a Pod that waits for its initializers (API servers 1.9 to 1.13). Pure; any
// thread.
//
// A new Pod lists the initializers it waits for in metadata.initializers.pending and is hidden from
// everybody else until the list is empty. Whoever stands first acts and takes its own entry out.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "controller/workload_plan.h"

namespace injector::controller {

enum class InitializerAction {
  Nothing,  // It waits for nobody, for somebody else first, or has failed already.
  Inject,   // Adds the sidecar and takes our entry out, in one patch.
  Release,  // Takes our entry out: it does not want the sidecar.
  Refuse,   // Writes a failure: the creator gets it, and the server deletes the Pod.
};

struct InitializerPlan {
  InitializerAction action = InitializerAction::Nothing;
  core::Reason reason = core::Reason::NotRequested;
  std::string detail;                     // One sentence for a person.
  std::vector<std::string> containers{};  // The names it adds.
  base::Json patch{};                     // Strategic merge; null for Nothing.
  std::vector<core::Warning> warnings{};  // For the log and Events.
};

/// What to do while no template serves: a Pod that does not ask goes on, one that asks waits.
[[nodiscard]] InitializerPlan plan_without_template(const base::Json& pod,
                                                    std::string_view initializer,
                                                    const core::Policy& policy,
                                                    const core::MetaFacts* name_space);

/// Total: a Pod that cannot be worked with is refused, as it would wait forever otherwise. Patches
/// name the resource version of `pod` and touch no entry but that of `initializer`.
[[nodiscard]] InitializerPlan plan_initializer(const base::Json& pod, std::string_view initializer,
                                               const PlanContext& context);

/// The refusal alone, for a Pod whose sidecar the server does not accept.
[[nodiscard]] InitializerPlan refuse_pod(const base::Json& pod, core::Reason reason,
                                         std::string why);

/// A runtime::Transform for caches of Pods: of those that wait for nobody, and of which a cluster
/// has many, it leaves hardly more than the name.
void trim_initialized(base::Json& pod);

}  // namespace injector::controller
