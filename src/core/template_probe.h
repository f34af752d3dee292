// Asks an API server what it thinks of a template: the Pod to create in a dry run, and what the
// answer says about the template. Who sends it is the caller's business:
//   POST /api/v1/namespaces/NS/pods?dryRun=All   (to servers from 1.13 on: older ones would create)
//
// Validation comes after mutating admission and before validating admission. So a refusal by Pod
// Security or a quota means that the Pod was valid; a refusal by RBAC or by a webhook means
// nothing.
//
// All functions are pure and may be called from any thread.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "core/policy.h"
#include "core/template.h"

namespace injector::core {

/// A Pod with everything that the template adds, behind a container that stands for the
/// application's. It opts out of injection, so that our own webhook leaves it as it is.
[[nodiscard]] base::Json probe_pod(const Template& tpl, std::string_view name_space,
                                   const Policy& policy = {});

enum class ProbeOutcome {
  Accepted,   // A Pod with this template is valid.
  Refused,    // It is not: no Pod can have it.
  Undecided,  // The server did not get as far as to look at it.
};

[[nodiscard]] std::string_view to_string(ProbeOutcome outcome) noexcept;

/// One of the server's complaints.
struct ProbeProblem {
  std::string path;  // In the template: "containers[0].image". Empty where the server names none.
  std::string message;
};

struct ProbeVerdict {
  ProbeOutcome outcome = ProbeOutcome::Undecided;
  std::string message;  // The server's words, paths as in the template; empty where there are none.
  std::vector<ProbeProblem> problems;  // Refused: one by one.
};

/// Of the HTTP code and the body, which is the Pod or a metav1.Status. Never fails.
[[nodiscard]] ProbeVerdict judge(int code, const base::Json& body);

/// The place in the template that a place in the probe Pod stands for, wherever it occurs in
/// `text`: "spec.containers[1].image" is "containers[0].image".
[[nodiscard]] std::string template_paths(std::string_view text);

}  // namespace injector::core
