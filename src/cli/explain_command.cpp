#include "cli/explain_command.h"

#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/printable.h"
#include "cli/object_reader.h"
#include "cli/objects.h"

namespace injector::cli {
namespace {

using base::Json;

constexpr const char* kDefaultNamespace = "default";

struct Row {
  std::string title;
  std::string name_space;
  core::Decision decision;
};

struct Explained {
  std::vector<Row> rows;
  std::vector<std::string> failures;
};

core::Decision not_a_pod() {
  core::Decision decision;
  decision.reason = core::Reason::NotAPod;
  decision.detail = "no Pod and no pod template in it";
  return decision;
}

std::string namespace_name(const Json& object) {
  return std::string(base::text_of(base::find(object, "metadata", "namespace")));
}

bool is_namespace(const Json& object) {
  return base::text_of(base::find(object, "kind")) == "Namespace";
}

std::string name_of(const Json& object) {
  return std::string(base::text_of(base::find(object, "metadata", "name")));
}

void add_namespaces_among(const std::vector<Json>& objects, DecisionContext& context) {
  for (const Json& object : objects) {
    if (is_namespace(object)) {
      context.namespaces.try_emplace(name_of(object), core::meta_facts(object));
    }
  }
}

// One that is not there yet says nothing; the others' silence is worth a word.
void look_up_namespaces(const std::vector<Json>& objects, const NamespaceLookup& look_up,
                        DecisionContext& context, const Streams& streams) {
  std::set<std::string> asked;
  for (const Json& object : objects) {
    std::string name = namespace_name(object);
    name = name.empty() ? kDefaultNamespace : name;
    if (!core::pod_path(object) || context.namespaces.contains(name) ||
        !asked.insert(name).second) {
      continue;
    }
    auto facts = look_up(name);
    if (facts) {
      context.namespaces.emplace(name, std::move(facts).value());
    } else if (facts.error().code != base::ErrorCode::NotFound) {
      streams.err << fmt::format("note: what Namespace {} says is not known: {}\n", name,
                                 facts.error().message);
    }
  }
}

Explained explain_all(const std::vector<Json>& objects, const DecisionContext& context) {
  Explained explained;
  for (const Json& object : objects) {
    auto decision = explain_object(object, context);
    if (!decision) {
      explained.failures.push_back(
          base::annotate(std::move(decision).error(), object_title(object)).message);
      continue;
    }
    explained.rows.push_back(
        {object_title(object), namespace_name(object), std::move(decision).value()});
  }
  return explained;
}

Json as_json(const Row& row) {
  Json object = Json::object();
  object["object"] = row.title;
  if (!row.name_space.empty()) {
    object["namespace"] = row.name_space;
  }
  object.update(decision_json(row.decision));
  return object;
}

TextTable::Row cells_of(const Row& row, ListFormat format) {
  const std::string outcome(to_string(row.decision.outcome));
  const std::string reason(to_string(row.decision.reason));
  if (format == ListFormat::Wide) {
    return {row.name_space,
            row.title,
            outcome,
            reason,
            std::string(to_string(row.decision.rule)),
            detail_of(row.decision)};
  }
  return {row.title, outcome, reason, detail_of(row.decision)};
}

void write_table(const std::vector<Row>& rows, const ListView& view, std::ostream& out) {
  TextTable table(
      view.output.format == ListFormat::Wide
          ? TextTable::Row{"NAMESPACE", "KIND/NAME", "DECISION", "REASON", "RULE", "DETAIL"}
          : TextTable::Row{"KIND/NAME", "DECISION", "REASON", "DETAIL"});
  for (const Row& row : rows) {
    table.add(cells_of(row, view.output.format));
  }
  table.write(view.headers ? TextTable::Headers::Shown : TextTable::Headers::Hidden, out);
  for (const Row& row : rows) {
    for (const core::Warning& warning : row.decision.warnings) {
      out << fmt::format("warning: {}: {}\n", row.title, to_string(warning));
    }
  }
}

Json document_of(const Explained& explained, const std::string& template_source) {
  Json objects = Json::array();
  for (const Row& row : explained.rows) {
    objects.push_back(as_json(row));
  }
  Json document = Json::object();
  document["template"] = template_source;
  document["objects"] = std::move(objects);
  document["failures"] = explained.failures;
  return document;
}

base::Result<void> sort_rows(const std::string& path, std::vector<Row>& rows) {
  std::vector<Json> values;
  for (const Row& row : rows) {
    values.push_back(as_json(row));
  }
  INJ_ASSIGN(const auto order, sorted_order(path, values));
  std::vector<Row> sorted;
  for (const std::size_t index : order) {
    sorted.push_back(std::move(rows[index]));
  }
  rows = std::move(sorted);
  return {};
}

void write_explained(const Explained& explained, const ExplainOptions& options, std::ostream& out) {
  const OutputSpec& output = options.view.output;
  if (output.format == ListFormat::Name) {
    for (const Row& row : explained.rows) {
      out << row.title << "\n";
    }
  } else if (output.is_table()) {
    if (options.view.headers) {
      out << "template: " << options.template_source << "\n";
    }
    write_table(explained.rows, options.view, out);
  } else {
    write_document(document_of(explained, options.template_source), output, out);
  }
}

}  // namespace

base::Result<core::Decision> explain_object(const Json& object, const DecisionContext& context) {
  INJ_ASSIGN(auto decided, decide_object(object, context));
  return decided ? std::move(decided->decision) : not_a_pod();
}

std::string detail_of(const core::Decision& decision) {
  if (decision.outcome == core::Outcome::Inject) {
    return fmt::format("adds {} (by {})", decision.detail, to_string(decision.rule));
  }
  return decision.detail;
}

Json decision_json(const core::Decision& decision) {
  Json warnings = Json::array();
  for (const core::Warning& warning : decision.warnings) {
    warnings.push_back(Json({{"code", to_string(warning.code)}, {"message", warning.message}}));
  }
  Json object = Json::object();
  object["decision"] = to_string(decision.outcome);
  object["reason"] = to_string(decision.reason);
  object["rule"] = to_string(decision.rule);
  object["detail"] = decision.detail;
  object["warnings"] = std::move(warnings);
  return object;
}

int run_explain(const ExplainOptions& options, DecisionContext context, const Streams& streams) {
  ReadObjects read = read_objects(options.files, options.recursion, streams);
  add_namespaces_among(read.objects, context);
  if (options.look_up) {
    look_up_namespaces(read.objects, options.look_up, context, streams);
  }
  Explained explained = explain_all(read.objects, context);
  explained.failures.insert(explained.failures.end(), read.failures.begin(), read.failures.end());
  if (auto sorted = sort_rows(options.view.sort_by, explained.rows); !sorted) {
    streams.err << "error: " << sorted.error().message << "\n";
    return kUsage;
  }
  write_explained(explained, options, streams.out);
  for (const std::string& failure : explained.failures) {
    streams.err << "error: " << base::printable(failure) << "\n";
  }
  return explained.failures.empty() ? kDone : kFailed;
}

base::Result<std::map<std::string, core::MetaFacts>> read_namespaces(
    const std::vector<std::string>& files, const Streams& streams) {
  std::map<std::string, core::MetaFacts> namespaces;
  const auto take = [&](const Json& object) -> base::Result<void> {
    if (is_namespace(object)) {
      namespaces[name_of(object)] = core::meta_facts(object);
    }
    return {};
  };
  INJ_TRY(visit_objects(files, take, streams));
  if (namespaces.empty() && !files.empty()) {
    return base::invalid("--namespace-file: no Namespace in it");
  }
  return namespaces;
}

}  // namespace injector::cli
