// The decision for a Pod that stands in an object of any kind, with every warning that concerns it:
// what the CLI and the control loop say about files and workloads. Pods that the API server is just
// creating go to inject() directly: their workload is out of sight, and their service account's
// secrets have been copied. Pure; any thread.

#pragma once

#include "base/json.h"
#include "base/result.h"
#include "core/decision.h"
#include "core/pod_facts.h"
#include "core/policy.h"
#include "core/template_set.h"
#include "core/workload.h"

namespace injector::core {

/// A Pod, or the pod template of a workload, in the object it is part of.
struct PodInObject {
  const base::Json& object;  // Not owned.
  PodPath path;
  const base::Json& pod;  // Not owned; at `path` of `object`, or what would be put there.
};

struct DecidedPod {
  PodFacts facts;  // Of a pod template: in its workload's namespace, named after it.
  Decision decision;
};

/// `name_space` is null where nothing is known of the Pod's Namespace. Fails as pod_facts() does,
/// with the whole path: "spec.template.spec.containers: missing".
[[nodiscard]] base::Result<DecidedPod> decide(const PodInObject& subject,
                                              const MetaFacts* name_space,
                                              const TemplateSet& templates, const Policy& policy);

}  // namespace injector::core
