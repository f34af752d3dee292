// The decision for one object of any kind: what inject does, and what explain says.

#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "core/decision.h"
#include "core/pod_facts.h"
#include "core/policy.h"
#include "core/template_set.h"
#include "core/workload.h"

namespace injector::cli {

struct DecisionContext {
  core::TemplateSet templates;
  core::Policy policy;
  std::map<std::string, core::MetaFacts> namespaces;  // By name; empty: nothing is known of any.
};

struct DecidedObject {
  core::PodPath path;
  core::PodFacts facts;
  core::Decision decision;
  bool asked_in_vain = false;  // It is NotAPod, and says that it wants the sidecar all the same.
};

/// Nothing for an object that has no Pod in it; an Error names what is malformed in one that has.
/// Reason NotAPod for a partial object, such as a kustomize patch without containers, and for one
/// with a pod template in a place that we do not know: these are left as they are.
[[nodiscard]] base::Result<std::optional<DecidedObject>> decide_object(
    const base::Json& object, const DecisionContext& context);

/// With another policy than the context's.
[[nodiscard]] base::Result<std::optional<DecidedObject>> decide_object(
    const base::Json& object, const DecisionContext& context, const core::Policy& policy);

}  // namespace injector::cli
