// Who asked for sidecars, and for which. Two keys say so, each as an annotation or a label:
//
//   initializer.kubernetes.io/envoy        true, enabled: yes. false, disabled: no. In any case of
//                                          letters. Anything else is unclear.
//   initializer.kubernetes.io/templates    names of templates: "envoy,otel". A label cannot hold a
//                                          comma, so it is one name. No name at all is unclear.
//
// The nearest place that has one of the keys answers; the others are not asked:
//
//   Pod annotations | Pod labels | Namespace annotations | Namespace labels | selectors of
//   templates | configured default
//
// Within one place:
//
//   envoy      templates   answer
//   yes        -           the default template
//   no         anything    no: an explicit no wins
//   unclear    anything    unclear
//   -          "a,b"       a, then b; not the default template, unless it is among them
//   yes        "a,b"       a, then b
//   - or yes   unclear     unclear
//   -          -           ask the next place
//
// Unclear stops the search as well: a typo must not be overruled in silence.
//
// A template's selector gives it to Pods that did not ask, in addition to what they asked for. A no
// keeps these out as well.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/decision.h"
#include "core/pod_facts.h"
#include "core/policy.h"
#include "core/template_set.h"

namespace injector::core {

enum class Answer { Yes, No, Unclear };

struct OptIn {
  Answer answer = Answer::No;
  Rule rule = Rule::Default;
  std::string value = {};               // As written; empty for the default.
  std::vector<std::string> names = {};  // The templates it asks for by name; none: the default.
  bool by_templates_key = false;        // `value` is that of the key `templates`.
};

/// `name_space` is null where nothing is known of the Pod's Namespace. Selectors are not asked.
[[nodiscard]] OptIn opt_in(const PodFacts& pod, const MetaFacts* name_space, const Policy& policy);

/// The same, with the selectors of these templates.
[[nodiscard]] OptIn opt_in(const PodFacts& pod, const MetaFacts* name_space,
                           const TemplateSet& templates, const Policy& policy);

/// The key that answered, for messages.
[[nodiscard]] std::string key_of(const OptIn& asked, const Policy& policy);

/// Keys of the Pod that were probably meant to be one of ours. Only worth asking where nobody
/// asked.
[[nodiscard]] std::vector<Warning> misspelt_keys(const PodFacts& pod, const Policy& policy);

/// A warning if `workload` carries the opt-in on its own metadata, where it does nothing: the Pods
/// are made from `template_path` (such as "spec.template").
[[nodiscard]] std::vector<Warning> misplaced_keys(const MetaFacts& workload,
                                                  std::string_view template_path,
                                                  const Policy& policy);

}  // namespace injector::core
