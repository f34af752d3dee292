// A Plan in the forms the front ends deliver. All agree: applying either patch gives the patched
// object. Pure; any thread.

#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "core/decision.h"
#include "core/pod_facts.h"

namespace injector::core {

/// The Pod (or pod template) with the plan carried out. `pod` is the document the facts came from.
[[nodiscard]] base::Json patched_object(base::Json pod, const Plan& plan);

/// RFC 6902 operations as JSON text, made from the facts alone: the webhook never builds the Pod.
/// `prefix` is the pointer to the pod template, such as "/spec/template"; empty for a Pod.
[[nodiscard]] std::string json_patch(const PodFacts& facts, const Plan& plan,
                                     std::string_view prefix = {});

/// The two-way strategic merge patch from `original` to `patched`, which are of `kind`.
[[nodiscard]] base::Result<base::Json> strategic_patch(const base::Json& original,
                                                       const base::Json& patched,
                                                       std::string_view kind);

}  // namespace injector::core
