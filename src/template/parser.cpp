#include "template/parser.h"

#include <algorithm>
#include <array>
#include <span>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "template/core_v1_fields.h"
#include "template/field_check.h"
#include "template/findings.h"
#include "template/rules.h"
#include "yaml/document_stream.h"
#include "yaml/yaml.h"

namespace injector::templates {
namespace {

using base::Json;

std::string type_name(const Json& value) {
  if (value.is_null()) {
    return "nothing";
  }
  return value.is_object() ? "a mapping" : value.is_array() ? "a list" : value.type_name();
}

std::span<const Field> template_fields() {
  static const std::array<Field, 6> kFields = {{
      {"containers", FieldType::Object, true, container_fields()},
      {"initContainers", FieldType::Object, true, container_fields()},
      volumes_field(),
      {"imagePullSecrets", FieldType::Object, true, local_object_reference_fields()},
      {"labels", FieldType::StringMap},
      {"annotations", FieldType::StringMap},
  }};
  return kFields;
}

void check(const Json& root, const TemplateOptions& options, Findings& findings) {
  if (!root.is_object()) {
    findings.problem({}, root.is_null() ? "is empty: give at least one container"
                                        : "is " + type_name(root) + ", not a mapping");
    return;
  }
  check_fields(root, template_fields(), options, findings);
  check_containers(root, findings);
  check_volumes(root, findings);
  check_mounts(root, findings);
  check_pull_secrets(root, findings);
  check_metadata(root, findings);
}

std::vector<core::Piece> pieces(const Json& root, const char* field) {
  std::vector<core::Piece> list;
  if (const Json* items = base::find(root, field)) {
    for (const Json& item : *items) {
      list.emplace_back(item);
    }
  }
  return list;
}

// Those without a name and those that are there twice have no effect.
std::vector<core::Piece> secrets(const Json& root) {
  std::vector<core::Piece> list;
  for (core::Piece& secret : pieces(root, "imagePullSecrets")) {
    const bool known = std::any_of(list.begin(), list.end(), [&](const core::Piece& other) {
      return other.name == secret.name;
    });
    if (!secret.name.empty() && !known) {
      list.push_back(std::move(secret));
    }
  }
  return list;
}

core::StringMap entries(const Json& root, const char* field) {
  core::StringMap map;
  if (const Json* object = base::find(root, field)) {
    for (const auto& [key, value] : object->items()) {
      map.emplace_back(key, value.get<std::string>());
    }
  }
  return map;
}

core::Template build(const Json& root) {
  core::Template tpl;
  tpl.containers = pieces(root, "containers");
  tpl.init_containers = pieces(root, "initContainers");
  tpl.volumes = pieces(root, "volumes");
  tpl.image_pull_secrets = secrets(root);
  tpl.labels = entries(root, "labels");
  tpl.annotations = entries(root, "annotations");
  tpl.hash = core::hash_of(tpl);
  return tpl;
}

TemplateReport failed(std::size_t line, std::string path, std::string message) {
  TemplateReport report;
  report.problems.push_back({line, std::move(path), std::move(message)});
  return report;
}

void sort_by_line(std::vector<TemplateProblem>& found) {
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& left, const auto& right) { return left.line < right.line; });
}

TemplateReport check_bare(const yaml::YamlSource& source, const TemplateOptions& options) {
  TemplateReport report;
  for (const yaml::YamlWarning& warning : source.warnings) {
    report.warnings.push_back({warning.where.line, "", warning.message});
  }
  const Json root = without_nulls(source.value, template_fields());
  Findings findings(source, report);
  check(root, options, findings);
  sort_by_line(report.problems);
  sort_by_line(report.warnings);
  if (report.problems.empty()) {
    report.value = build(root);
  }
  return report;
}

// "line 3, column 5: what" as a problem of its own line.
TemplateReport unreadable(const base::Error& error) {
  return failed(0, "", error.message);
}

// Lines of a literal block scalar (`config: |`) are lines of the file; in any other style the best
// that can be said is where it starts.
std::size_t first_line_of(const yaml::YamlNode& node, std::string_view text) {
  const bool literal = node.value_offset < text.size() && text[node.value_offset] == '|';
  return literal ? node.value.line + 1 : node.value.line;
}

TemplateReport check_config_map(const yaml::YamlSource& map, std::string_view text,
                                const TemplateOptions& options) {
  const Json* config = base::find(map.value, "data", "config");
  const yaml::YamlNode* node = map.node("/data/config");
  const std::size_t line = node == nullptr ? 0 : node->key.line;
  if (config == nullptr) {
    return failed(line, "data.config", "missing: the ConfigMap has no key config");
  }
  if (!config->is_string()) {
    return failed(line, "data.config", "is " + type_name(*config) + ", not text: write config: |");
  }
  const std::string_view inner = base::text_of(config);
  auto source = yaml::read_yaml_with_marks(inner, node == nullptr ? 1 : first_line_of(*node, text));
  if (!source) {
    return failed(0, "data.config", source.error().message);
  }
  if (source.value().value.is_null()) {
    return failed(line, "data.config", "is empty: give at least one container");
  }
  if (!source.value().value.is_object()) {
    return failed(line, "data.config", "is " + type_name(source.value().value) + ", not a mapping");
  }
  return check_bare(source.value(), options);
}

bool is_config_map(const Json& document) {
  return base::text_of(base::find(document, "kind")) == "ConfigMap";
}

}  // namespace

std::string TemplateProblem::text(std::string_view file) const {
  std::string where(file);
  if (line != 0) {
    where += fmt::format(":{}", line);
  }
  if (!path.empty()) {
    where += ": " + path;
  }
  return where + ": " + message;
}

TemplateReport check_template_file(std::string_view text, const TemplateOptions& options) {
  std::istringstream stream{std::string(text)};
  yaml::DocumentStream documents(stream);
  std::optional<TemplateReport> first;
  while (true) {
    auto raw = documents.next();
    if (!raw) {
      return unreadable(raw.error());
    }
    if (!raw.value()) {
      break;
    }
    auto source = yaml::read_yaml_with_marks(raw.value()->text, raw.value()->first_line);
    if (!source) {
      return unreadable(source.error());
    }
    if (is_config_map(source.value().value)) {
      return check_config_map(source.value(), raw.value()->text, options);
    }
    if (!first && !source.value().value.is_null()) {
      first = check_bare(source.value(), options);
    }
  }
  return first ? *std::move(first) : failed(0, "", "is empty: give at least one container");
}

base::Result<core::Template> parse_template(std::string_view text, std::string_view file,
                                            const TemplateOptions& options) {
  TemplateReport report = check_template_file(text, options);
  if (report.value) {
    return *std::move(report.value);
  }
  std::string message;
  for (const TemplateProblem& problem : report.problems) {
    message += (message.empty() ? "" : "\n") + problem.text(file);
  }
  return base::invalid(std::move(message));
}

}  // namespace injector::templates
