#include "dashboard/inventory.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "cli/documents.h"
#include "cli/explain_command.h"
#include "cli/status_report.h"

namespace injector::dashboard {
namespace {

using base::Json;

constexpr std::size_t kMostWarnings = 50;
constexpr std::array<const char*, 5> kStates{"injected", "outdated", "missing", "refused",
                                             "not-asked"};

// "not asked" is "not-asked" in addresses.
std::string state_name(core::PodState state) {
  std::string name(to_string(state));
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::string key_of(std::string_view kind, std::string_view name_space, std::string_view name) {
  return fmt::format("{}/{}/{}", name_space, name, kind);
}

std::string text_at(const Json& object, std::string_view one, std::string_view two) {
  return std::string(base::text_of(base::find(object, one, two)));
}

bool contains(std::string_view text, std::string_view part) {
  const auto same = [](unsigned char left, unsigned char right) {
    return std::tolower(left) == std::tolower(right);
  };
  return std::search(text.begin(), text.end(), part.begin(), part.end(), same) != text.end() ||
         part.empty();
}

bool matches(const Inventory::Row& row, const RowQuery& query) {
  const bool in_place = query.name_space.empty() || row.name_space == query.name_space;
  const bool in_state = query.state.empty() || row.state == query.state;
  return in_place && in_state &&
         (contains(row.name, query.search) || contains(row.owner, query.search) ||
          contains(row.name_space, query.search));
}

Json as_json(const Inventory::Row& row) {
  return Json({{"namespace", row.name_space},
               {"kind", row.kind},
               {"name", row.name},
               {"owner", row.owner},
               {"state", row.state}});
}

}  // namespace

Inventory::Inventory(cli::DecisionContext context)
    : context_(std::move(context)) {}

cli::DecisionContext Inventory::context() const {
  const base::MutexLock lock(mutex_);
  return context_;
}

void Inventory::set_templates(core::TemplateSet templates) {
  const base::MutexLock lock(mutex_);
  context_.templates = std::move(templates);
}

void Inventory::put_namespace(const std::string& name, const core::MetaFacts* name_space) {
  const base::MutexLock lock(mutex_);
  if (name_space == nullptr) {
    context_.namespaces.erase(name);
  } else {
    context_.namespaces.insert_or_assign(name, *name_space);
  }
}

const core::MetaFacts* Inventory::namespace_of(const Json& object) const {
  const auto found = context_.namespaces.find(text_at(object, "metadata", "namespace"));
  return found == context_.namespaces.end() ? nullptr : &found->second;
}

std::string Inventory::put_pod(const Json& pod) {
  const base::MutexLock lock(mutex_);
  cli::StatusReport report;
  cli::add_pod(pod, namespace_of(pod), context_.templates, context_.policy, report);
  if (report.rows.empty()) {
    remove(key_of("Pod", text_at(pod, "metadata", "namespace"), text_at(pod, "metadata", "name")));
    return {};
  }
  const cli::StatusRow& row = report.rows.front();
  std::string state = state_name(row.state);
  put({row.name_space, "Pod", row.name, row.owner, state});
  return state;
}

void Inventory::put_workload(const Json& workload) {
  const base::MutexLock lock(mutex_);
  const std::string kind(base::text_of(base::find(workload, "kind")));
  const std::string name_space = text_at(workload, "metadata", "namespace");
  const std::string name = text_at(workload, "metadata", "name");
  const Key key = key_of(kind, name_space, name);
  cli::StatusReport report;
  cli::add_workload(workload, namespace_of(workload), context_.templates, context_.policy, report);
  warnings_.erase(key);
  if (!report.warnings.empty()) {
    warnings_.emplace(key, std::move(report.warnings));
  }
  const auto decision = cli::explain_object(workload, context_);
  if (decision && decision.value().outcome == core::Outcome::Refuse) {
    put({name_space, kind, name, {}, "refused"});
  } else {
    remove(key);
  }
}

std::string Inventory::erase(std::string_view kind, std::string_view name_space,
                             std::string_view name) {
  const base::MutexLock lock(mutex_);
  const Key key = key_of(kind, name_space, name);
  warnings_.erase(key);
  return remove(key);
}

void Inventory::put(Row row) {
  Key key = key_of(row.kind, row.name_space, row.name);
  remove(key);
  ++counts_[row.name_space][row.state];
  rows_.insert_or_assign(std::move(key), std::move(row));
}

std::string Inventory::remove(const Key& key) {
  const auto found = rows_.find(key);
  if (found == rows_.end()) {
    return {};
  }
  std::string state = found->second.state;
  const auto counts = counts_.find(found->second.name_space);
  if (--counts->second[state] == 0) {
    counts->second.erase(state);
  }
  if (counts->second.empty()) {
    counts_.erase(counts);
  }
  rows_.erase(found);
  return state;
}

Json Inventory::page(const RowQuery& query) const {
  const base::MutexLock lock(mutex_);
  Json rows = Json::array();
  std::size_t total = 0;
  const std::size_t first = std::min(query.page, rows_.size()) * query.page_size;
  for (const auto& [key, row] : rows_) {
    if (!matches(row, query)) {
      continue;
    }
    if (total >= first && rows.size() < query.page_size) {
      rows.push_back(as_json(row));
    }
    ++total;
  }
  Json namespaces = Json::array();
  for (const auto& [name, counts] : counts_) {
    namespaces.push_back(name);
  }
  return Json({{"total", total},
               {"page", query.page},
               {"pageSize", query.page_size},
               {"rows", std::move(rows)},
               {"namespaces", std::move(namespaces)}});
}

Json Inventory::summary() const {
  const base::MutexLock lock(mutex_);
  Counts totals;
  Json namespaces = Json::array();
  for (const auto& [name, counts] : counts_) {
    Json entry = Json::object();
    entry["name"] = name;
    for (const char* state : kStates) {
      const auto found = counts.find(state);
      const std::size_t count = found == counts.end() ? 0 : found->second;
      entry[state] = count;
      totals[state] += count;
    }
    namespaces.push_back(std::move(entry));
  }
  Json sums = Json::object();
  for (const char* state : kStates) {
    sums[state] = totals[state];
  }
  Json warnings = Json::array();
  for (const auto& [key, lines] : warnings_) {
    for (const std::string& line : lines) {
      if (warnings.size() < kMostWarnings) {
        warnings.push_back(line);
      }
    }
  }
  return Json({{"totals", std::move(sums)},
               {"namespaces", std::move(namespaces)},
               {"warnings", std::move(warnings)}});
}

}  // namespace injector::dashboard
