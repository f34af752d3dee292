#include "cli/explain_command.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/printable.h"
#include "cli/objects.h"
#include "cli/spool.h"
#include "codec/json.h"

namespace injector::cli {
namespace {

using base::Json;

struct Row {
  std::string title;
  std::string name_space;
  core::Decision decision;
};

core::Decision not_a_pod() {
  core::Decision decision;
  decision.reason = core::Reason::NotAPod;
  decision.detail = "no Pod and no pod template in it";
  return decision;
}

Json as_json(const Row& row) {
  Json warnings = Json::array();
  for (const core::Warning& warning : row.decision.warnings) {
    warnings.push_back(Json({{"code", to_string(warning.code)}, {"message", warning.message}}));
  }
  Json object = Json::object();
  object["object"] = row.title;
  if (!row.name_space.empty()) {
    object["namespace"] = row.name_space;
  }
  object["decision"] = to_string(row.decision.outcome);
  object["reason"] = to_string(row.decision.reason);
  object["rule"] = to_string(row.decision.rule);
  object["detail"] = row.decision.detail;
  object["warnings"] = std::move(warnings);
  return object;
}

std::string detail_of(const core::Decision& decision) {
  if (decision.outcome == core::Outcome::Inject) {
    return fmt::format("adds {} (by {})", decision.detail, to_string(decision.rule));
  }
  return decision.detail;
}

void write_table(const std::vector<Row>& rows, std::ostream& out) {
  std::array<std::size_t, 3> widths = {9, 8, 6};
  for (const Row& row : rows) {
    widths[0] = std::max(widths[0], row.title.size());
    widths[1] = std::max(widths[1], to_string(row.decision.outcome).size());
    widths[2] = std::max(widths[2], to_string(row.decision.reason).size());
  }
  const auto line = [&](std::string_view title, std::string_view decision, std::string_view reason,
                        std::string_view detail) {
    out << fmt::format("{:<{}}  {:<{}}  {:<{}}  {}\n", title, widths[0], decision, widths[1],
                       reason, widths[2], detail);
  };
  line("KIND/NAME", "DECISION", "REASON", "DETAIL");
  for (const Row& row : rows) {
    line(row.title, to_string(row.decision.outcome), to_string(row.decision.reason),
         detail_of(row.decision));
  }
  for (const Row& row : rows) {
    for (const core::Warning& warning : row.decision.warnings) {
      out << fmt::format("warning: {}: {}: {}\n", row.title, to_string(warning.code),
                         warning.message);
    }
  }
}

}  // namespace

int run_explain(const std::vector<std::string>& files, ExplainFormat format,
                const DecisionContext& context, const Streams& streams) {
  std::vector<Row> rows;
  const auto explain = [&](const Json& object) -> base::Result<void> {
    auto decided = decide_object(object, context);
    if (!decided) {
      return base::annotate(std::move(decided).error(), object_title(object));
    }
    rows.push_back({object_title(object),
                    std::string(base::text_of(base::find(object, "metadata", "namespace"))),
                    decided.value() ? std::move(decided.value()->decision) : not_a_pod()});
    return {};
  };
  if (auto done = visit_objects(files, explain, streams); !done) {
    streams.err << "error: " << base::printable(done.error().message) << "\n";
    return kFailed;
  }
  if (format == ExplainFormat::Table) {
    write_table(rows, streams.out);
    return kDone;
  }
  Json list = Json::array();
  for (const Row& row : rows) {
    list.push_back(as_json(row));
  }
  streams.out << codec::write_json_pretty(list) << "\n";
  return kDone;
}

base::Result<std::map<std::string, core::MetaFacts>> read_namespaces(
    const std::vector<std::string>& files, const Streams& streams) {
  std::map<std::string, core::MetaFacts> namespaces;
  const auto take = [&](const Json& object) -> base::Result<void> {
    if (base::text_of(base::find(object, "kind")) == "Namespace") {
      namespaces[std::string(base::text_of(base::find(object, "metadata", "name")))] =
          core::meta_facts(object);
    }
    return {};
  };
  if (auto done = visit_objects(files, take, streams); !done) {
    return std::move(done).error();
  }
  if (namespaces.empty() && !files.empty()) {
    return base::invalid("--namespace-file: no Namespace in it");
  }
  return namespaces;
}

}  // namespace injector::cli
