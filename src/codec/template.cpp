#include "codec/template.h"

#include <algorithm>
#include <array>
#include <set>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "base/edit_distance.h"
#include "codec/core_v1_fields.h"
#include "codec/document_stream.h"
#include "codec/template_checks.h"
#include "codec/yaml.h"

namespace injector::codec {
namespace {

using base::Json;
using Fields = std::span<const Field>;

constexpr std::int64_t kMaxPort = 65535;

std::string type_name(const Json& value) {
  if (value.is_null()) {
    return "nothing";
  }
  return value.is_object() ? "a mapping" : value.is_array() ? "a list" : value.type_name();
}

// A place in the template: the same in the two notations that are needed of it.
struct Place {
  std::string pointer;  // "/containers/0/image", for the source map.
  std::string path;     // "containers[0].image", for people.

  [[nodiscard]] Place member(std::string_view key) const {
    std::string token;
    for (const char c : key) {
      token += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    }
    const bool plain = key.find_first_of("./[]") == std::string_view::npos;
    const std::string step =
        plain ? (path.empty() ? "" : ".") + std::string(key) : fmt::format("[{}]", key);
    return {pointer + "/" + token, path + step};
  }

  [[nodiscard]] Place element(std::size_t index) const {
    return {fmt::format("{}/{}", pointer, index), fmt::format("{}[{}]", path, index)};
  }
};

class TemplateChecker {
 public:
  TemplateChecker(const YamlSource& source, const TemplateOptions& options, TemplateReport& report)
      : source_(source),
        options_(options),
        report_(report) {}

  void check() {
    const Json& root = source_.value;
    if (!root.is_object()) {
      problem({}, root.is_null() ? "is empty: give at least one container"
                                 : "is " + type_name(root) + ", not a mapping");
      return;
    }
    check_object(root, {}, kTemplateFields);
    check_containers(root);
    check_names(root, "volumes");
    check_names(root, "imagePullSecrets");
    check_volume_sources(root);
    check_mounts(root);
    check_map(root, "labels");
    check_map(root, "annotations");
  }

 private:
  static const std::array<Field, 6> kTemplateFields;

  void problem(const Place& place, std::string message) {
    report_.problems.push_back({line_of(place.pointer), place.path, std::move(message)});
  }

  // The line of the place itself or, where it is missing, of the nearest parent.
  [[nodiscard]] std::size_t line_of(std::string pointer) const {
    while (true) {
      if (const YamlNode* node = source_.node(pointer)) {
        return node->key.line != 0 ? node->key.line : node->value.line;
      }
      if (pointer.empty()) {
        return 0;
      }
      pointer.erase(pointer.rfind('/'));
    }
  }

  void check_object(const Json& object, const Place& place, Fields fields) {
    if (!object.is_object()) {
      problem(place, "is " + type_name(object) + ", not a mapping");
      return;
    }
    for (const auto& [key, value] : object.items()) {
      const auto field = std::find_if(fields.begin(), fields.end(),
                                      [&name = key](const Field& f) { return f.name == name; });
      if (field != fields.end()) {
        check_field(value, place.member(key), *field);
      } else if (!options_.allow_unknown_fields || is_typo(key, fields)) {
        unknown_field(place.member(key), key, fields);
      }
    }
  }

  // Even where unknown fields pass, imagepullPolicy is a slip and not a new field.
  static bool is_typo(std::string_view key, Fields fields) {
    return std::any_of(fields.begin(), fields.end(), [&](const Field& field) {
      return base::same_ignoring_case(field.name, key);
    });
  }

  void unknown_field(const Place& place, std::string_view key, Fields fields) {
    std::vector<std::string_view> names;
    for (const Field& field : fields) {
      names.push_back(field.name);
    }
    const std::string_view meant = base::nearest(key, names);
    problem(place, meant.empty() ? "unknown field"
                                 : fmt::format("unknown field, did you mean {}?", meant));
  }

  void check_field(const Json& value, const Place& place, const Field& field) {
    if (!field.is_list) {
      check_value(value, place, field);
      return;
    }
    if (!value.is_array()) {
      problem(place, "is " + type_name(value) + ", not a list");
      return;
    }
    for (std::size_t i = 0; i < value.size(); ++i) {
      check_value(value.at(i), place.element(i), field);
    }
  }

  void check_value(const Json& value, const Place& place, const Field& field) {
    switch (field.type) {
      case FieldType::String:
        return expect(value.is_string(), value, place, "a string (put it in quotes)");
      case FieldType::Boolean:
        return expect(value.is_boolean(), value, place, "true or false");
      case FieldType::Integer:
        return expect(value.is_number_integer(), value, place, "a whole number");
      case FieldType::Port:
        return expect(is_port(value), value, place, "a port from 1 to 65535");
      case FieldType::IntOrString:
        return expect(is_port(value) || value.is_string(), value, place,
                      "a port from 1 to 65535 or its name");
      case FieldType::Quantity:
        return expect(is_quantity(value), value, place, "a quantity such as 100m or 64Mi");
      case FieldType::StringMap:
      case FieldType::QuantityMap:
        return check_entries(value, place, field.type);
      case FieldType::Object:
        return check_object(value, place, field.fields);
      case FieldType::Any:
        return;
    }
  }

  void expect(bool ok, const Json& value, const Place& place, std::string_view wanted) {
    if (!ok) {
      problem(place, fmt::format("is {}, not {}",
                                 value.is_structured() || value.is_null() ? type_name(value)
                                                                          : base::to_text(value),
                                 wanted));
    }
  }

  static bool is_port(const Json& value) {
    return value.is_number_integer() && value.get<std::int64_t>() >= 1 &&
           value.get<std::int64_t>() <= kMaxPort;
  }

  void check_entries(const Json& value, const Place& place, FieldType type) {
    if (!value.is_object()) {
      problem(place, "is " + type_name(value) + ", not a mapping");
      return;
    }
    for (const auto& [key, entry] : value.items()) {
      const FieldType each = type == FieldType::StringMap ? FieldType::String : FieldType::Quantity;
      check_value(entry, place.member(key), {key, each});
    }
  }

  void check_containers(const Json& root) {
    std::set<std::string, std::less<>> names;
    bool any = false;
    for (const char* field : {"containers", "initContainers"}) {
      each_item(root, field, [&](const Json& item, const Place& place) {
        any = true;
        check_name(item, place, names);
        check_image(item, place);
      });
    }
    if (!any) {
      problem({}, "has no container: give at least one in containers or initContainers");
    }
  }

  void check_image(const Json& container, const Place& place) {
    if (base::text_of(base::find(container, "image")).empty()) {
      problem(place.member("image"), "missing");
    }
  }

  void check_names(const Json& root, const char* field) {
    std::set<std::string, std::less<>> names;
    each_item(root, field,
              [&](const Json& item, const Place& place) { check_name(item, place, names); });
  }

  void check_name(const Json& item, const Place& place, std::set<std::string, std::less<>>& names) {
    const std::string_view name = base::text_of(base::find(item, "name"));
    if (name.empty()) {
      problem(place.member("name"), "missing");
    } else if (place.pointer.rfind("/imagePullSecrets", 0) != 0 && !is_dns_label(name)) {
      problem(place.member("name"),
              fmt::format("\"{}\" is not a name: use up to 63 lower-case letters, digits and "
                          "dashes",
                          name));
    } else if (!names.emplace(name).second) {
      problem(place.member("name"), fmt::format("\"{}\" is there twice", name));
    }
  }

  void check_volume_sources(const Json& root) {
    each_item(root, "volumes", [&](const Json& volume, const Place& place) {
      const std::size_t sources = volume.size() - (volume.contains("name") ? 1U : 0U);
      if (sources > 1) {
        problem(place, fmt::format("has {} sources, not one", sources));
      }
    });
  }

  void check_mounts(const Json& root) {
    std::set<std::string, std::less<>> volumes;
    each_item(root, "volumes", [&](const Json& volume, const Place&) {
      volumes.emplace(base::text_of(base::find(volume, "name")));
    });
    for (const char* field : {"containers", "initContainers"}) {
      each_item(root, field, [&](const Json& container, const Place& place) {
        check_mounts_of(container, place, volumes);
      });
    }
  }

  void check_mounts_of(const Json& container, const Place& place,
                       const std::set<std::string, std::less<>>& volumes) {
    std::set<std::string, std::less<>> paths;
    each_item(container, "volumeMounts", place, [&](const Json& mount, const Place& where) {
      const std::string_view name = base::text_of(base::find(mount, "name"));
      if (name.empty()) {
        problem(where.member("name"), "missing");
      } else if (!volumes.contains(name) && !provided_by_kubernetes(name)) {
        problem(where.member("name"),
                fmt::format("no volume \"{}\" in the template's volumes", name));
      }
      const std::string_view path = base::text_of(base::find(mount, "mountPath"));
      if (path.empty()) {
        problem(where.member("mountPath"), "missing");
      } else if (!paths.emplace(path).second) {
        problem(where.member("mountPath"), fmt::format("\"{}\" is mounted twice", path));
      }
    });
  }

  // The volume with the service account's token, which admission puts into every Pod.
  static bool provided_by_kubernetes(std::string_view volume) {
    return volume.rfind("kube-api-access", 0) == 0 || volume.rfind("default-token-", 0) == 0;
  }

  void check_map(const Json& root, const char* field) {
    const Json* map = base::find(root, field);
    if (map == nullptr || !map->is_object()) {
      return;
    }
    const bool labels = std::string_view(field) == "labels";
    for (const auto& [key, value] : map->items()) {
      const Place place = Place{}.member(field).member(key);
      if (!is_qualified_name(key)) {
        problem(place, "is not a key: use [prefix/]name of letters, digits, -, _ and .");
      } else if (labels && value.is_string() && !is_label_value(base::text_of(&value))) {
        problem(place, fmt::format("\"{}\" is not a label value: use up to 63 letters, digits, -, "
                                   "_ and .",
                                   base::text_of(&value)));
      }
    }
  }

  template <class Visit>
  static void each_item(const Json& parent, const char* field, const Place& place, Visit visit) {
    const Json* list = base::find(parent, field);
    if (list == nullptr || !list->is_array()) {
      return;
    }
    for (std::size_t i = 0; i < list->size(); ++i) {
      if (list->at(i).is_object()) {
        visit(list->at(i), place.member(field).element(i));
      }
    }
  }

  template <class Visit>
  static void each_item(const Json& parent, const char* field, Visit visit) {
    each_item(parent, field, Place{}, visit);
  }

  const YamlSource& source_;        // Not owned.
  const TemplateOptions& options_;  // Not owned.
  TemplateReport& report_;          // Not owned; collects.
};

const std::array<Field, 6> TemplateChecker::kTemplateFields = {{
    {"containers", FieldType::Object, true, container_fields()},
    {"initContainers", FieldType::Object, true, container_fields()},
    {"volumes", FieldType::Object, true, volume_fields()},
    {"imagePullSecrets", FieldType::Object, true, local_object_reference_fields()},
    {"labels", FieldType::StringMap},
    {"annotations", FieldType::StringMap},
}};

std::vector<core::Piece> pieces(const Json& root, const char* field) {
  std::vector<core::Piece> list;
  if (const Json* items = base::find(root, field)) {
    for (const Json& item : *items) {
      list.emplace_back(item);
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
  tpl.image_pull_secrets = pieces(root, "imagePullSecrets");
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

TemplateReport check_bare(const YamlSource& source, const TemplateOptions& options) {
  TemplateReport report;
  for (const YamlWarning& warning : source.warnings) {
    report.warnings.push_back({warning.where.line, "", warning.message});
  }
  TemplateChecker(source, options, report).check();
  std::stable_sort(report.problems.begin(), report.problems.end(),
                   [](const auto& left, const auto& right) { return left.line < right.line; });
  if (report.problems.empty()) {
    report.value = build(source.value);
  }
  return report;
}

// "line 3, column 5: what" as a problem of its own line.
TemplateReport unreadable(const base::Error& error) {
  return failed(0, "", error.message);
}

// Lines of a literal block scalar (`config: |`) are lines of the file; in any other style the best
// that can be said is where it starts.
std::size_t first_line_of(const YamlNode& node, std::string_view text) {
  const bool literal = node.value_offset < text.size() && text[node.value_offset] == '|';
  return literal ? node.value.line + 1 : node.value.line;
}

TemplateReport check_config_map(const YamlSource& map, std::string_view text,
                                const TemplateOptions& options) {
  const Json* config = base::find(map.value, "data", "config");
  const YamlNode* node = map.node("/data/config");
  const std::size_t line = node == nullptr ? 0 : node->key.line;
  if (config == nullptr) {
    return failed(line, "data.config", "missing: the ConfigMap has no key config");
  }
  if (!config->is_string()) {
    return failed(line, "data.config", "is " + type_name(*config) + ", not text: write config: |");
  }
  const std::string_view inner = base::text_of(config);
  auto source = read_yaml_with_marks(inner, node == nullptr ? 1 : first_line_of(*node, text));
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
  DocumentStream documents(stream);
  std::optional<TemplateReport> first;
  while (true) {
    auto raw = documents.next();
    if (!raw) {
      return unreadable(raw.error());
    }
    if (!raw.value()) {
      break;
    }
    auto source = read_yaml_with_marks(raw.value()->text, raw.value()->first_line);
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

}  // namespace injector::codec
