// The one decision this project exists to make. Pure and total: no clock, no log, no network, an
// answer for every Pod. The webhook, the control loop and the CLI all call it, so they cannot
// disagree. Any thread.

#pragma once

#include "core/decision.h"
#include "core/pod_facts.h"
#include "core/policy.h"
#include "core/template_set.h"

namespace injector::core {

/// Idempotent: an injected Pod is AlreadyInitialized. The decision's plan keeps the templates it
/// needs. `name_space` is null where nothing is known of the Pod's Namespace.
[[nodiscard]] Decision inject(const PodFacts& pod, const MetaFacts* name_space,
                              const TemplateSet& templates, const Policy& policy);

/// With one template for everybody, which outlives the decision.
[[nodiscard]] Decision inject(const PodFacts& pod, const MetaFacts* name_space, const Template& tpl,
                              const Policy& policy);

}  // namespace injector::core
