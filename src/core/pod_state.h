// How a Pod that exists stands to the template: what `status` lists and the repair loop looks for.
// Pure; any thread.

#pragma once

#include <string_view>

#include "base/json.h"
#include "core/pod_facts.h"
#include "core/policy.h"
#include "core/template_set.h"

namespace injector::core {

enum class PodState {
  NotAsked,  // Nobody wants the sidecar in it, or it cannot have one (host network, mirror Pod).
  Injected,
  Outdated,  // Injected from another template.
  Missing,   // Asked, and runs without.
};

[[nodiscard]] std::string_view to_string(PodState state) noexcept;

/// `name_space` is null where nothing is known of the Pod's Namespace.
[[nodiscard]] PodState pod_state(const PodFacts& pod, const MetaFacts* name_space,
                                 const TemplateSet& templates, const Policy& policy);

/// A runtime::Transform for caches of Pods: drops everything that neither pod_facts() nor an owner,
/// phase or deletion check reads. The rest of a Pod's facts is the same before and after, but for
/// the volumes' definitions.
void trim_pod(base::Json& pod);

}  // namespace injector::core
