#include "cli/status_printer.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/json_text.h"

namespace injector::cli {
namespace {

using base::Json;
using core::PodState;

std::string text_in(const Json& row, std::string_view member) {
  const Json* value = base::find(row, member);
  return value == nullptr     ? std::string()
         : value->is_string() ? std::string(base::text_of(value))
                              : base::to_text(*value);
}

std::string joined(const Json& list) {
  std::string text;
  for (const Json& item : list) {
    text += (text.empty() ? "" : ",") + std::string(base::text_of(&item));
  }
  return text;
}

Json new_owner_row(const StatusRow& pod) {
  return Json({{"namespace", pod.name_space},
               {"owner", pod.owner},
               {"asked", 0},
               {"injected", 0},
               {"outdated", 0},
               {"missing", 0},
               {"pods", Json::array()}});
}

void count_in(const StatusRow& pod, Json& row) {
  const auto add_one = [&row](const char* member) { row[member] = row.at(member).get<int>() + 1; };
  add_one("asked");
  add_one(pod.state == PodState::Injected   ? "injected"
          : pod.state == PodState::Outdated ? "outdated"
                                            : "missing");
  if (pod.state != PodState::Injected) {
    row["pods"].push_back(pod.name);
  }
}

bool asks(const Json& pod_row) {
  return text_in(pod_row, "state") != to_string(PodState::NotAsked);
}

std::vector<Json> rows_of(const StatusReport& report, const StatusView& view) {
  if (!view.show_all) {
    return owner_rows(report);
  }
  std::vector<Json> rows = pod_rows(report);
  std::erase_if(rows, [](const Json& row) { return !asks(row); });
  return rows;
}

std::string name_in(const Json& row, const StatusView& view) {
  return view.show_all ? "pod/" + text_in(row, "name") : text_in(row, "owner");
}

TextTable table_for(const StatusView& view) {
  TextTable::Row headers =
      view.show_all ? TextTable::Row{"NAMESPACE", "NAME", "STATE", "OWNER"}
                    : TextTable::Row{"NAMESPACE", "OWNER", "INJECTED", "OUTDATED", "MISSING"};
  if (view.output.format == ListFormat::Wide) {
    headers.emplace_back(view.show_all ? "TEMPLATE" : "PODS");
  }
  return TextTable(std::move(headers));
}

TextTable::Row cells_of(const Json& row, const StatusView& view) {
  TextTable::Row cells;
  if (view.show_all) {
    cells = {text_in(row, "namespace"), text_in(row, "name"), text_in(row, "state"),
             text_in(row, "owner")};
  } else {
    cells = {text_in(row, "namespace"), text_in(row, "owner"),
             fmt::format("{}/{}", text_in(row, "injected"), text_in(row, "asked")),
             text_in(row, "outdated"), text_in(row, "missing")};
  }
  if (view.output.format == ListFormat::Wide) {
    cells.push_back(view.show_all ? text_in(row, "template") : joined(row.at("pods")));
  }
  return cells;
}

void write_rows(const std::vector<Json>& rows, const StatusView& view, TextTable::Headers headers,
                std::ostream& out) {
  if (view.output.format == ListFormat::Name) {
    for (const Json& row : rows) {
      out << name_in(row, view) << "\n";
    }
    return;
  }
  TextTable table = table_for(view);
  for (const Json& row : rows) {
    table.add(cells_of(row, view));
  }
  table.write(headers, out);
}

void write_summary(const StatusReport& report, std::ostream& out) {
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

Json document_of(const StatusReport& report, std::vector<Json> rows, const StatusView& view) {
  Json document = Json::object();
  document["template"] = report.template_source;
  document["owners"] = view.show_all ? owner_rows(report) : rows;
  document["pods"] = pod_rows(report);
  document["warnings"] = report.warnings;
  return document;
}

}  // namespace

std::vector<Json> owner_rows(const StatusReport& report) {
  std::map<std::pair<std::string, std::string>, Json> owners;
  for (const StatusRow& pod : report.rows) {
    if (pod.state != PodState::NotAsked) {
      const auto place = owners.try_emplace({pod.name_space, pod.owner}, new_owner_row(pod)).first;
      count_in(pod, place->second);
    }
  }
  std::vector<Json> rows;
  for (auto& [key, row] : owners) {
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<Json> pod_rows(const StatusReport& report) {
  std::vector<Json> rows;
  for (const StatusRow& row : report.rows) {
    rows.push_back(Json({{"namespace", row.name_space},
                         {"name", row.name},
                         {"owner", row.owner},
                         {"state", to_string(row.state)},
                         {"template", row.template_hash}}));
  }
  return rows;
}

base::Result<void> write_status(const StatusReport& report, const StatusView& view,
                                std::ostream& out) {
  std::vector<Json> rows = rows_of(report, view);
  if (!view.sort_by.empty()) {
    INJ_TRY(sort_by(view.sort_by, rows));
  }
  const bool document = !view.output.is_table() && view.output.format != ListFormat::Name;
  if (document) {
    write_document(document_of(report, std::move(rows), view), view.output, out);
    return {};
  }
  const bool with_frame = view.output.is_table() && view.headers;
  if (with_frame) {
    out << "template: " << report.template_source << "\n";
  }
  write_rows(rows, view, view.headers ? TextTable::Headers::Shown : TextTable::Headers::Hidden,
             out);
  if (with_frame) {
    write_summary(report, out);
  }
  return {};
}

void write_changes(const StatusReport& report, const StatusView& view,
                   std::map<std::string, Json>& before, std::ostream& out) {
  std::map<std::string, Json> now;
  std::vector<Json> changed;
  for (Json& row : rows_of(report, view)) {
    const std::string key = text_in(row, "namespace") + "/" + name_in(row, view);
    const auto known = before.find(key);
    if (known == before.end() || !base::same(known->second, row)) {
      changed.push_back(row);
    }
    now.emplace(key, std::move(row));
  }
  before = std::move(now);
  if (changed.empty()) {
    return;
  }
  if (view.output.is_table() || view.output.format == ListFormat::Name) {
    write_rows(changed, view, TextTable::Headers::Hidden, out);
  } else {
    for (const Json& row : changed) {
      write_document(row, view.output, out);
    }
  }
  out << std::flush;
}

}  // namespace injector::cli
