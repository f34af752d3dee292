// Who asked for the sidecar. First match wins; "no match" falls to the next row:
//
//   Pod annotation | Pod label | Namespace annotation | Namespace label | configured default
//
// true, enabled: yes. false, disabled: no. In any case of letters. Anything else is neither, and
// stops the search: a typo must not be overruled in silence.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/decision.h"
#include "core/pod_facts.h"
#include "core/policy.h"

namespace injector::core {

enum class Answer { Yes, No, Unclear };

struct OptIn {
  Answer answer = Answer::No;
  Rule rule = Rule::Default;
  std::string value;  // As written; empty for the default.
};

/// `name_space` is null where nothing is known of the Pod's Namespace.
[[nodiscard]] OptIn opt_in(const PodFacts& pod, const MetaFacts* name_space, const Policy& policy);

/// Keys of the Pod that were probably meant to be the opt-in key. Only worth asking where nobody
/// asked.
[[nodiscard]] std::vector<Warning> misspelt_keys(const PodFacts& pod, const Policy& policy);

/// A warning if `workload` carries the opt-in on its own metadata, where it does nothing: the Pods
/// are made from `template_path` (such as "spec.template").
[[nodiscard]] std::vector<Warning> misplaced_keys(const MetaFacts& workload,
                                                  std::string_view template_path,
                                                  const Policy& policy);

}  // namespace injector::core
