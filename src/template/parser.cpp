#include "template/parser.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <set>
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

constexpr const char* kConfigKey = "config";

std::string type_name(const Json& value) {
  if (value.is_null()) {
    return "nothing";
  }
  return value.is_object() ? "a mapping" : value.is_array() ? "a list" : value.type_name();
}

constexpr std::array<std::string_view, 3> kPlacements = {"auto", "native", "container"};
constexpr std::array<std::string_view, 2> kPositions = {"last", "first"};

std::span<const Field> template_fields() {
  static const std::array<Field, 9> kFields = {{
      {.name = "placement", .type = FieldType::String, .values = kPlacements},
      {.name = "position", .type = FieldType::String, .values = kPositions},
      {"overrides", FieldType::String, true},
      {"containers", FieldType::Object, true, container_fields()},
      {"initContainers", FieldType::Object, true, container_fields()},
      volumes_field(),
      {"imagePullSecrets", FieldType::Object, true, local_object_reference_fields()},
      {"labels", FieldType::StringMap},
      {"annotations", FieldType::StringMap},
  }};
  return kFields;
}

// Puts something in the place of a Pod's values, so that the rules can look at what is around them.
class ValueSampler {
 public:
  /// `findings` is not owned; gets what is wrong with the values themselves.
  explicit ValueSampler(Findings& findings)
      : findings_(findings) {}

  Json sample(const Json& value, const Place& place) {
    if (value.is_string()) {
      return sample_text(value, place);
    }
    if (!value.is_structured()) {
      return value;
    }
    Json result = value.is_object() ? Json::object() : Json::array();
    if (value.is_object()) {
      for (const auto& [key, member] : value.items()) {
        base::append_member(result, key, sample(member, place.member(key)));
      }
    } else {
      for (std::size_t i = 0; i < value.size(); ++i) {
        result.push_back(sample(value.at(i), place.element(i)));
      }
    }
    return result;
  }

  /// Where the value is not known before there is a Pod.
  [[nodiscard]] std::set<std::string> take_unknown() { return std::move(unknown_); }

 private:
  Json sample_text(const Json& text, const Place& place) {
    const auto pattern = core::parse_pattern(base::text_of(&text));
    if (!pattern) {
      findings_.problem(place, pattern.error().message);
      return text;
    }
    if (pattern.value().empty()) {
      return text;
    }
    for (const core::PatternPart& part : pattern.value()) {
      if (part.value) {
        look_at(*part.value, place);
      }
    }
    return Json::parse(core::fill_with_samples(core::json_pattern(text), core::Escaping::Json),
                       nullptr, false);
  }

  void look_at(const core::PodValue& value, const Place& place) {
    if (is_identity(place)) {
      findings_.problem(place, "a name cannot hold values of the Pod: it is how we find the part");
    }
    if (!value.fallback) {
      unknown_.insert(place.pointer);
    }
    const bool number = value.fallback && !value.fallback->empty() &&
                        value.fallback->find_first_not_of("0123456789") == std::string::npos;
    if (value.is_number() && value.fallback && !number) {
      findings_.problem(place, fmt::format("${{{}}}: the default is no number", value.path));
    }
    if (value.source == core::ValueSource::Name && !value.fallback) {
      findings_.warning(place,
                        "Pods of workloads have no name yet when they get the sidecar, and are "
                        "refused: give a default, or use the downward API");
    }
  }

  // "containers[0].name"
  static bool is_identity(const Place& place) {
    const auto dots = std::count(place.path.begin(), place.path.end(), '.');
    return dots == 1 && place.path.size() > 6 &&
           place.path.compare(place.path.size() - 6, 6, "].name") == 0;
  }

  Findings& findings_;
  std::set<std::string> unknown_;
};

// Dotted paths of fields that a container has: "resources.limits.memory".
void check_overrides(const Json& root, Findings& findings) {
  const Json* list = base::find(root, "overrides");
  if (list == nullptr || !list->is_array()) {
    return;
  }
  for (std::size_t i = 0; i < list->size(); ++i) {
    const std::string_view path = base::text_of(&list->at(i));
    const std::string_view field = path.substr(0, path.find('.'));
    const auto known = container_fields();
    const bool has_it = std::any_of(known.begin(), known.end(),
                                    [&](const Field& each) { return each.name == field; });
    if (!has_it || field == "name") {
      findings.problem(Place().member("overrides").element(i),
                       field == "name" ? "a container's name cannot be overridden"
                                       : fmt::format("containers have no field {}", field));
    }
  }
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
  check_overrides(root, findings);
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

core::Placement placement_of(const Json& root) {
  const std::string_view text = text_at(root, "placement");
  return text == "auto"     ? core::Placement::Auto
         : text == "native" ? core::Placement::Native
                            : core::Placement::Container;
}

core::Template build(const Json& root, const std::string& name) {
  core::Template tpl;
  tpl.name = name;
  tpl.placement = placement_of(root);
  tpl.position =
      text_at(root, "position") == "first" ? core::Position::First : core::Position::Last;
  if (const Json* list = base::find(root, "overrides")) {
    tpl.overrides.clear();
    for (const Json& field : *list) {
      tpl.overrides.push_back(field.get<std::string>());
    }
  }
  tpl.containers = pieces(root, "containers");
  tpl.init_containers = pieces(root, "initContainers");
  tpl.volumes = pieces(root, "volumes");
  tpl.image_pull_secrets = secrets(root);
  tpl.labels = entries(root, "labels");
  tpl.annotations = entries(root, "annotations");
  core::complete(tpl);
  return tpl;
}

TemplateReport failed(std::size_t line, std::string path, std::string message,
                      std::string_view name = core::kDefaultTemplate) {
  TemplateReport report;
  report.name = name;
  report.problems.push_back({line, std::move(path), std::move(message)});
  return report;
}

void sort_by_line(std::vector<TemplateProblem>& found) {
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& left, const auto& right) { return left.line < right.line; });
}

// The template in `value`, which stands at `top` in the source.
TemplateReport check_value(const Json& value, const yaml::YamlSource& source, const Place& top,
                           const TemplateOptions& options, TemplateReport report) {
  for (const yaml::YamlWarning& warning : source.warnings) {
    report.warnings.push_back({warning.where.line, "", warning.message});
  }
  const Json root = without_nulls(value, template_fields());
  Findings findings(source, report, top);
  ValueSampler sampler(findings);
  const Json sampled = sampler.sample(root, {});
  findings.ignore(sampler.take_unknown());
  check(sampled, options, findings);
  sort_by_line(report.problems);
  sort_by_line(report.warnings);
  if (report.problems.empty()) {
    report.value = build(root, report.name);
  }
  return report;
}

TemplateReport check_bare(const yaml::YamlSource& source, const TemplateOptions& options,
                          std::string_view name) {
  TemplateReport report;
  report.name = name;
  return check_value(source.value, source, {}, options, std::move(report));
}

// "line 3, column 5: what" as a problem of its own line.
TemplateReport unreadable(const base::Error& error, std::string_view name) {
  return failed(0, "", error.message, name);
}

// Lines of a literal block scalar (`config: |`) are lines of the file; in any other style the best
// that can be said is where it starts.
std::size_t first_line_of(const yaml::YamlNode& node, std::string_view text) {
  const bool literal = node.value_offset < text.size() && text[node.value_offset] == '|';
  return literal ? node.value.line + 1 : node.value.line;
}

TemplateReport check_key(const yaml::YamlSource& map, const std::string& key, const Json& value,
                         std::string_view text, const TemplateOptions& options) {
  const Place place = Place().member("data").member(key);
  const std::string name = key == kConfigKey ? std::string(core::kDefaultTemplate) : key;
  const yaml::YamlNode* node = map.node(place.pointer);
  const std::size_t line = node == nullptr ? 0 : node->key.line;
  if (!is_template_name(name)) {
    return failed(line, place.path, "is no name for a template: use a-z, 0-9, - and .", name);
  }
  if (!value.is_string()) {
    return failed(line, place.path,
                  fmt::format("is {}, not text: write {}: |", type_name(value), key), name);
  }
  const std::string_view inner = base::text_of(&value);
  auto source = yaml::read_yaml_with_marks(inner, node == nullptr ? 1 : first_line_of(*node, text));
  if (!source) {
    return failed(0, place.path, source.error().message, name);
  }
  if (source.value().value.is_null()) {
    return failed(line, place.path, "is empty: give at least one container", name);
  }
  if (!source.value().value.is_object()) {
    return failed(line, place.path, "is " + type_name(source.value().value) + ", not a mapping",
                  name);
  }
  return check_bare(source.value(), options, name);
}

// The default template first.
std::vector<TemplateReport> check_config_map(const yaml::YamlSource& map, std::string_view text,
                                             const TemplateOptions& options) {
  std::vector<TemplateReport> reports;
  const Json* data = base::find(map.value, "data");
  const Json* config = base::find(map.value, "data", kConfigKey);
  if (config == nullptr) {
    reports.push_back(failed(0, "data.config", "missing: the ConfigMap has no key config"));
  } else {
    reports.push_back(check_key(map, kConfigKey, *config, text, options));
  }
  if (data != nullptr && data->is_object()) {
    for (const auto& [key, value] : data->items()) {
      if (key != kConfigKey) {
        reports.push_back(check_key(map, key, value, text, options));
      }
    }
  }
  return reports;
}

std::optional<core::LabelSelector> check_selector(const Json& spec, const char* field,
                                                  const Place& top, const yaml::YamlSource& source,
                                                  TemplateReport& report) {
  const Json* value = base::find(spec, field);
  if (value == nullptr || value->is_null()) {
    return std::nullopt;
  }
  auto selector = core::read_label_selector(*value);
  if (!selector) {
    Findings(source, report, top).problem(Place().member(field), selector.error().message);
    return std::nullopt;
  }
  if (selector.value().requirements.empty() && std::string_view(field) == "selector") {
    Findings(source, report, top)
        .problem(Place().member(field),
                 "is empty, and would match every Pod: name a label that Pods have");
  }
  return std::move(selector).value();
}

TemplateReport check_object(const yaml::YamlSource& source, const TemplateOptions& options) {
  TemplateReport report;
  const Json& object = source.value;
  report.name = base::text_of(base::find(object, "metadata", "name"));
  const std::string_view home = base::text_of(base::find(object, "metadata", "namespace"));
  const bool of_cluster = home.empty() || home == options.own_namespace;
  report.name_space = of_cluster ? std::string_view() : home;
  report.object = fmt::format("sidecartemplate {}{}{}", home, home.empty() ? "" : "/", report.name);
  if (!is_template_name(report.name)) {
    report.problems.push_back(
        {0, "metadata.name", "is no name for a template: use a-z, 0-9, - and ."});
  }
  const Json* spec = base::find(object, "spec");
  if (spec == nullptr || !spec->is_object()) {
    report.problems.push_back({0, "spec", "missing"});
    return report;
  }
  const Place top = Place().member("spec");
  report.selector = check_selector(*spec, "selector", top, source, report);
  report.namespace_selector = check_selector(*spec, "namespaceSelector", top, source, report);
  if (report.namespace_selector && !of_cluster) {
    Findings(source, report, top)
        .problem(Place().member("namespaceSelector"),
                 fmt::format("only templates in namespace {} serve other namespaces",
                             options.own_namespace));
  }
  Json bare = *spec;
  bare.erase("selector");
  bare.erase("namespaceSelector");
  return check_value(bare, source, top, options, std::move(report));
}

bool is_config_map(const Json& document) {
  return base::text_of(base::find(document, "kind")) == "ConfigMap";
}

bool is_object(const Json& document) {
  return base::text_of(base::find(document, "kind")) == "SidecarTemplate";
}

// What a text comes to, document by document.
struct FoundTemplates {
  std::vector<TemplateReport> objects;       // SidecarTemplates.
  std::vector<TemplateReport> of_map;        // Of the first ConfigMap.
  std::optional<TemplateReport> first_bare;  // Counts only without the others.
};

std::vector<TemplateReport> all_of(FoundTemplates found) {
  std::vector<TemplateReport> all = std::move(found.of_map);
  std::move(found.objects.begin(), found.objects.end(), std::back_inserter(all));
  if (all.empty()) {
    all.push_back(found.first_bare ? *std::move(found.first_bare)
                                   : failed(0, "", "is empty: give at least one container"));
  }
  return all;
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

base::Error TemplateReport::error(std::string_view file) const {
  std::string message;
  for (const TemplateProblem& problem : problems) {
    message += (message.empty() ? "" : "\n") + problem.text(file);
  }
  return base::invalid(std::move(message));
}

core::ServedTemplate TemplateReport::served(std::string_view origin) && {
  INJ_CHECK(value.has_value());
  return {std::make_shared<const core::Template>(*std::move(value)),
          object.empty() ? std::string(origin) : std::move(object), std::move(name_space),
          std::move(selector), std::move(namespace_selector)};
}

std::vector<TemplateReport> check_templates(std::string_view text, const TemplateOptions& options,
                                            std::string_view bare_name) {
  std::istringstream stream{std::string(text)};
  yaml::DocumentStream documents(stream);
  FoundTemplates found;
  while (true) {
    auto raw = documents.next();
    if (!raw) {
      return {unreadable(raw.error(), bare_name)};
    }
    if (!raw.value()) {
      return all_of(std::move(found));
    }
    auto source = yaml::read_yaml_with_marks(raw.value()->text, raw.value()->first_line);
    if (!source) {
      return {unreadable(source.error(), bare_name)};
    }
    const Json& document = source.value().value;
    if (is_config_map(document)) {
      if (found.of_map.empty()) {
        found.of_map = check_config_map(source.value(), raw.value()->text, options);
      }
    } else if (is_object(document)) {
      found.objects.push_back(check_object(source.value(), options));
    } else if (!found.first_bare && !document.is_null()) {
      found.first_bare = check_bare(source.value(), options, bare_name);
    }
  }
}

TemplateReport check_template_file(std::string_view text, const TemplateOptions& options) {
  std::vector<TemplateReport> all = check_templates(text, options);
  const auto is_default = [](const TemplateReport& each) {
    return each.name == core::kDefaultTemplate;
  };
  auto chosen = std::find_if(all.begin(), all.end(), is_default);
  chosen = chosen == all.end() ? all.begin() : chosen;
  TemplateReport report = *chosen;
  for (auto each = all.begin(); each != all.end(); ++each) {
    if (each != chosen) {
      report.problems.insert(report.problems.end(), each->problems.begin(), each->problems.end());
      report.warnings.insert(report.warnings.end(), each->warnings.begin(), each->warnings.end());
    }
  }
  if (!report.problems.empty()) {
    report.value.reset();
  }
  return report;
}

bool is_template_name(std::string_view name) noexcept {
  constexpr std::size_t kMost = 63;
  constexpr std::string_view kInside = "abcdefghijklmnopqrstuvwxyz0123456789-.";
  constexpr std::string_view kNotAtEnds = "-.";
  return !name.empty() && name.size() <= kMost &&
         kNotAtEnds.find(name.front()) == std::string_view::npos &&
         kNotAtEnds.find(name.back()) == std::string_view::npos &&
         name.find_first_not_of(kInside) == std::string_view::npos;
}

base::Result<Json> read_overrides(std::string_view text) {
  INJ_ASSIGN(auto document, yaml::read_yaml(text));
  return std::move(document.value);
}

base::Result<core::Template> parse_template(std::string_view text, std::string_view file,
                                            const TemplateOptions& options) {
  TemplateReport report = check_template_file(text, options);
  if (report.value) {
    return *std::move(report.value);
  }
  return report.error(file);
}

}  // namespace injector::templates
