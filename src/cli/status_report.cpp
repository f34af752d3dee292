#include "cli/status_report.h"

#include <algorithm>
#include <array>
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

Json as_json(const StatusRow& row) {
  return Json({{"namespace", row.name_space},
               {"name", row.name},
               {"owner", row.owner},
               {"state", to_string(row.state)}});
}

}  // namespace

int StatusReport::count(PodState state) const {
  return static_cast<int>(std::count_if(
      rows.begin(), rows.end(), [state](const StatusRow& row) { return row.state == state; }));
}

void add_pod(const Json& pod, const core::MetaFacts* name_space, const core::Template& tpl,
             const core::Policy& policy, StatusReport& report) {
  const auto facts = core::pod_facts(pod);
  if (!facts || has_ended(pod)) {
    return;
  }
  report.rows.push_back({facts.value().name_space, facts.value().name,
                         to_string(facts.value().owner),
                         core::pod_state(facts.value(), name_space, tpl, policy)});
}

void add_workload(const Json& workload, const core::MetaFacts* name_space,
                  const core::Template& tpl, const core::Policy& policy, StatusReport& report) {
  const auto path = core::pod_path(workload);
  const Json* pod = path ? core::pod_at(workload, *path) : nullptr;
  if (pod == nullptr) {
    return;
  }
  const auto decided = core::decide({workload, *path, *pod}, name_space, tpl, policy);
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

void write_status_table(const StatusReport& report, std::ostream& out) {
  std::array<std::size_t, 3> widths = {9, 4, 8};
  for (const StatusRow& row : report.rows) {
    widths[0] = std::max(widths[0], row.name_space.size());
    widths[1] = std::max(widths[1], row.name.size());
  }
  const auto line = [&](std::string_view one, std::string_view two, std::string_view three,
                        std::string_view four) {
    out << fmt::format("{:<{}}  {:<{}}  {:<{}}  {}\n", one, widths[0], two, widths[1], three,
                       widths[2], four);
  };
  out << "template: " << report.template_source << "\n";
  line("NAMESPACE", "NAME", "STATE", "OWNER");
  for (const StatusRow& row : report.rows) {
    if (row.state != PodState::NotAsked) {
      line(row.name_space, row.name, to_string(row.state), row.owner);
    }
  }
  const int injected = report.count(PodState::Injected);
  const int outdated = report.count(PodState::Outdated);
  const int missing = report.count(PodState::Missing);
  out << fmt::format("asked {}: injected {}, outdated {}, missing {} (of {} Pods)\n",
                     injected + outdated + missing, injected, outdated, missing,
                     report.rows.size());
  for (const std::string& warning : report.warnings) {
    out << "warning: " << warning << "\n";
  }
}

void write_status_json(const StatusReport& report, std::ostream& out) {
  Json pods = Json::array();
  for (const StatusRow& row : report.rows) {
    pods.push_back(as_json(row));
  }
  Json document = Json::object();
  document["template"] = report.template_source;
  document["pods"] = std::move(pods);
  document["warnings"] = report.warnings;
  out << base::write_json_pretty(document) << "\n";
}

}  // namespace injector::cli
