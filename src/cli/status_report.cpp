#include "cli/status_report.h"

#include <algorithm>
#include <cctype>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/json_text.h"
#include "cli/objects.h"
#include "core/decide.h"
#include "core/workload.h"

namespace injector::cli {
namespace {

using base::Json;
using core::PodState;
using core::WarningCode;

bool has_ended(const Json& pod) {
  const std::string_view phase = base::text_of(base::find(pod, "status", "phase"));
  return phase == "Succeeded" || phase == "Failed" ||
         base::find(pod, "metadata", "deletionTimestamp") != nullptr;
}

// Those about how it asks; the others are for who injects it.
bool is_about_asking(WarningCode code) {
  switch (code) {
    case WarningCode::UnrecognizedValue:
    case WarningCode::MisspeltKey:
    case WarningCode::MisplacedKey:
      return true;
    case WarningCode::PortConflict:
    case WarningCode::NeverCompletes:
    case WarningCode::HidesServiceAccountSecrets:
      break;
  }
  return false;
}

// The workload that the Pod belongs to. The name of a Deployment's ReplicaSet ends in the hash that
// its Pods have as a label.
std::string owner_of(const core::PodFacts& pod) {
  if (pod.owner.name.empty()) {
    return "pod/" + pod.name;
  }
  const std::string* hash = core::find(pod.labels, "pod-template-hash");
  if (pod.owner.kind == "ReplicaSet" && hash != nullptr && pod.owner.name.ends_with("-" + *hash)) {
    return "deployment/" + pod.owner.name.substr(0, pod.owner.name.size() - hash->size() - 1);
  }
  std::string kind = pod.owner.kind;
  std::transform(kind.begin(), kind.end(), kind.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return kind + "/" + pod.owner.name;
}

std::string hash_of(const core::PodFacts& pod, const core::Policy& policy) {
  const std::string* status = core::find(pod.annotations, policy.status_key());
  const auto parsed = base::read_json(status == nullptr ? "" : *status);
  return parsed ? std::string(base::text_of(base::find(parsed.value(), "template")))
                : std::string();
}

}  // namespace

int StatusReport::count(PodState state) const {
  return static_cast<int>(std::count_if(
      rows.begin(), rows.end(), [state](const StatusRow& row) { return row.state == state; }));
}

void add_pod(const Json& pod, const core::MetaFacts* name_space, const core::TemplateSet& templates,
             const core::Policy& policy, StatusReport& report) {
  const auto facts = core::pod_facts(pod);
  if (!facts || has_ended(pod)) {
    return;
  }
  report.rows.push_back({facts.value().name_space, facts.value().name, owner_of(facts.value()),
                         hash_of(facts.value(), policy),
                         core::pod_state(facts.value(), name_space, templates, policy)});
}

void add_workload(const Json& workload, const core::MetaFacts* name_space,
                  const core::TemplateSet& templates, const core::Policy& policy,
                  StatusReport& report) {
  const auto path = core::pod_path(workload);
  const Json* pod = path ? core::pod_at(workload, *path) : nullptr;
  if (pod == nullptr) {
    return;
  }
  const auto decided = core::decide({workload, *path, *pod}, name_space, templates, policy);
  if (!decided) {
    return;
  }
  for (const core::Warning& warning : decided.value().decision.warnings) {
    if (is_about_asking(warning.code)) {
      report.warnings.push_back(fmt::format(
          "{} in namespace {}: {}", object_title(workload),
          base::text_of(base::find(workload, "metadata", "namespace")), to_string(warning)));
    }
  }
}

void sort_rows(StatusReport& report) {
  std::sort(report.rows.begin(), report.rows.end(),
            [](const StatusRow& left, const StatusRow& right) {
              return std::tie(left.name_space, left.name) < std::tie(right.name_space, right.name);
            });
}

}  // namespace injector::cli
