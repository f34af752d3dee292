#include "core/decide.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "core/inject.h"
#include "core/opt_in.h"

namespace injector::core {
namespace {

bool is_workload(const PodInObject& subject) {
  return !subject.path.pointer.empty();
}

// Whether Pods made from its template belong to the workload itself, not to something in between.
bool owns_its_pods(std::string_view kind) {
  constexpr std::array<std::string_view, 5> kOwners = {"StatefulSet", "DaemonSet", "Job",
                                                       "ReplicaSet", "ReplicationController"};
  return std::find(kOwners.begin(), kOwners.end(), kind) != kOwners.end();
}

// A Pod made from the template will be in the workload's namespace, and its name will start with
// the workload's.
void borrow_identity(PodFacts& facts, const base::Json& workload) {
  const std::string_view name = base::text_of(base::find(workload, "metadata", "name"));
  const std::string_view kind = base::text_of(base::find(workload, "kind"));
  if (facts.name.empty() && facts.generate_name.empty()) {
    facts.generate_name = name;
  }
  if (facts.owner.name.empty() && owns_its_pods(kind)) {
    facts.owner = {std::string(base::text_of(base::find(workload, "apiVersion"))),
                   std::string(kind), std::string(name), ""};
  }
  if (facts.name_space.empty()) {
    facts.name_space = base::text_of(base::find(workload, "metadata", "namespace"));
  }
  facts.of_job = runs_to_completion(base::text_of(base::find(workload, "apiVersion")),
                                    base::text_of(base::find(workload, "kind")));
}

base::Error at_template(base::Error error, const PodPath& path) {
  if (!path.dotted.empty()) {
    error.message = fmt::format("{}.{}", path.dotted, error.message);
  }
  return error;
}

void warn_of_misplaced_keys(const PodInObject& subject, const Policy& policy, Decision& decision) {
  if (!is_workload(subject) || decision.reason != Reason::NotRequested) {
    return;
  }
  for (Warning& warning : misplaced_keys(meta_facts(subject.object), subject.path.dotted, policy)) {
    decision.warnings.push_back(std::move(warning));
  }
}

// The ServiceAccount admission plugin copies the account's imagePullSecrets to Pods without any.
void warn_of_hidden_secrets(const PodInObject& subject, const PodFacts& facts, Decision& decision) {
  if (decision.plan.image_pull_secrets.empty() || !facts.image_pull_secrets.empty()) {
    return;
  }
  decision.warnings.push_back(
      {WarningCode::HidesServiceAccountSecrets,
       fmt::format("with imagePullSecrets of the sidecar ({}), Pods no longer get those of their "
                   "service account: list these in the {} as well",
                   decision.plan.image_pull_secrets.front()->name,
                   is_workload(subject) ? "pod template" : "Pod")});
}

}  // namespace

base::Result<DecidedPod> decide(const PodInObject& subject, const MetaFacts* name_space,
                                const TemplateSet& templates, const Policy& policy) {
  auto facts = pod_facts(subject.pod, &templates);
  if (!facts) {
    return at_template(std::move(facts).error(), subject.path);
  }
  DecidedPod decided{std::move(facts).value(), {}};
  if (is_workload(subject)) {
    borrow_identity(decided.facts, subject.object);
  }
  decided.decision = inject(decided.facts, name_space, templates, policy);
  warn_of_misplaced_keys(subject, policy, decided.decision);
  warn_of_hidden_secrets(subject, decided.facts, decided.decision);
  return decided;
}

}  // namespace injector::core
