// The one decision this project exists to make. Pure and total: no clock, no log, no network, an
// answer for every Pod. The webhook, the control loop and the CLI all call it, so they cannot
// disagree. Any thread.

#pragma once

#include "core/decision.h"
#include "core/pod_facts.h"
#include "core/policy.h"
#include "core/template.h"

namespace injector::core {

/// Idempotent: an injected Pod is AlreadyInitialized. The decision's plan points into `tpl`.
/// `name_space` is null where nothing is known of the Pod's Namespace.
[[nodiscard]] Decision inject(const PodFacts& pod, const MetaFacts* name_space, const Template& tpl,
                              const Policy& policy);

}  // namespace injector::core
