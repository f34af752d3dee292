#include "template/field_check.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/ascii.h"
#include "base/edit_distance.h"
#include "template/quantity.h"

namespace injector::templates {
namespace {

using base::Json;
using Fields = std::span<const Field>;

constexpr std::int64_t kMaxPort = 65535;
constexpr std::size_t kMaxListed = 12;

const Field* find_field(Fields fields, std::string_view name) {
  const auto field = std::find_if(fields.begin(), fields.end(),
                                  [&](const Field& known) { return known.name == name; });
  return field == fields.end() ? nullptr : &*field;
}

// Nulls.

Json null_element(const Field& field) {
  if (field.type == FieldType::String) {
    return "";
  }
  return field.type == FieldType::Object ? Json::object() : Json();
}

Json map_without_nulls(const Json& map, FieldType type) {
  Json kept = Json::object();
  for (const auto& [key, value] : map.items()) {
    if (!value.is_null()) {
      base::append_member(kept, key, value);
    } else if (type == FieldType::StringMap) {
      base::append_member(kept, key, "");
    }
  }
  return kept;
}

Json value_without_nulls(const Json& value, const Field& field) {
  const bool is_map = field.type == FieldType::StringMap || field.type == FieldType::QuantityMap;
  return is_map && value.is_object() ? map_without_nulls(value, field.type)
                                     : without_nulls(value, field.fields);
}

Json field_without_nulls(const Json& value, const Field& field) {
  if (!field.is_list || !value.is_array()) {
    return value_without_nulls(value, field);
  }
  Json list = Json::array();
  for (const Json& item : value) {
    list.push_back(item.is_null() ? null_element(field) : value_without_nulls(item, field));
  }
  return list;
}

// Messages.

std::string type_name(const Json& value) {
  if (value.is_null()) {
    return "nothing";
  }
  return value.is_object() ? "a mapping" : value.is_array() ? "a list" : value.type_name();
}

std::string value_text(const Json& value) {
  if (value.is_string()) {
    return quoted(base::text_of(&value));
  }
  return value.is_structured() || value.is_null() ? type_name(value) : base::to_text(value);
}

template <class Range>
std::string listed(const Range& words, std::string_view last) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    text += i == 0 ? "" : i + 1 == words.size() ? fmt::format(" {} ", last) : ", ";
    text += words[i];
  }
  return text;
}

std::string range_text(const Range& range) {
  if (range.max == kMaxPort) {
    return fmt::format("a port from {} to {}", range.min, range.max);
  }
  if (range.max == kMaxMode) {
    return "a file mode from 0 to 0777";
  }
  if (range.max < std::numeric_limits<std::int32_t>::max() || range.min < 0) {
    return fmt::format("a whole number from {} to {}", range.min, range.max);
  }
  return fmt::format("a whole number from {} on", range.min);
}

bool is_in(const Range& range, const Json& value) {
  if (!value.is_number_integer()) {
    return false;
  }
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{INT64_MAX}) {
    return false;
  }
  return value.get<std::int64_t>() >= range.min && value.get<std::int64_t>() <= range.max;
}

bool is_empty(const Json* value) {
  return value == nullptr || (value->is_string() && base::text_of(value).empty()) ||
         (value->is_array() && value->empty());
}

// Looks at one template.
class FieldCheck {
 public:
  FieldCheck(const TemplateOptions& options, Findings& findings)
      : options_(options),
        findings_(findings) {}

  void check_object(const Json& object, const Place& place, Fields fields) {
    if (!object.is_object()) {
      findings_.problem(place, "is " + type_name(object) + ", not a mapping");
      return;
    }
    for (const auto& [key, value] : object.items()) {
      if (const Field* field = find_field(fields, key)) {
        check_field(value, place.member(key), *field);
      } else {
        check_unknown(place.member(key), key, fields);
      }
    }
    for (const Field& field : fields) {
      if (field.required && is_empty(base::find(object, field.name))) {
        findings_.problem(place.member(field.name), "missing");
      }
    }
  }

 private:
  void check_unknown(const Place& place, std::string_view key, Fields fields) {
    const bool is_ours = place.pointer.find('/', 1) == std::string::npos;
    if (options_.allow_unknown_fields && !is_ours && !is_typo(key, fields)) {
      return;
    }
    std::vector<std::string_view> names;
    for (const Field& field : fields) {
      names.push_back(field.name);
    }
    const std::string_view meant = base::nearest(key, names);
    if (!meant.empty()) {
      findings_.problem(place, fmt::format("unknown field, did you mean {}?", meant));
    } else if (is_ours && options_.allow_unknown_fields) {
      findings_.problem(place, fmt::format("unknown field, and this version would ignore it: only "
                                           "fields inside {} may be unknown",
                                           listed(names_of_collections(fields), "and")));
    } else {
      findings_.problem(place, "unknown field");
    }
  }

  static std::vector<std::string_view> names_of_collections(Fields fields) {
    std::vector<std::string_view> names;
    for (const Field& field : fields) {
      if (field.type == FieldType::Object || field.type == FieldType::StringMap) {
        names.push_back(field.name);
      }
    }
    return names;
  }

  // Even where unknown fields pass, imagepullPolicy is a slip and not a new field.
  static bool is_typo(std::string_view key, Fields fields) {
    return std::any_of(fields.begin(), fields.end(), [&](const Field& field) {
      return base::same_ignoring_case(field.name, key);
    });
  }

  void check_field(const Json& value, const Place& place, const Field& field) {
    if (!field.is_list) {
      check_value(value, place, field);
      return;
    }
    if (!value.is_array()) {
      findings_.problem(place, "is " + type_name(value) + ", not a list");
      return;
    }
    for (std::size_t i = 0; i < value.size(); ++i) {
      check_value(value.at(i), place.element(i), field);
    }
  }

  void check_value(const Json& value, const Place& place, const Field& field) {
    switch (field.type) {
      case FieldType::String:
        return check_text(value, place, field);
      case FieldType::Boolean:
        return expect(value.is_boolean(), value, place, "true or false");
      case FieldType::Integer:
        return check_number(value, place, field);
      case FieldType::Port:
        return expect(is_in(field.range, value), value, place, range_text(field.range));
      case FieldType::IntOrString:
        return check_port(value, place, field);
      case FieldType::Quantity:
        return expect(is_quantity(value), value, place, "a quantity such as 100m or 64Mi");
      case FieldType::StringMap:
      case FieldType::QuantityMap:
        return check_entries(value, place, field.type);
      case FieldType::Object:
        check_object(value, place, field.fields);
        return check_choice(value, place, field.choice);
      case FieldType::Any:
        return;
    }
  }

  void check_text(const Json& value, const Place& place, const Field& field) {
    if (!value.is_string()) {
      return expect(false, value, place, "a string (put it in quotes)");
    }
    const std::string_view text = base::text_of(&value);
    if (!field.values.empty()) {
      return check_enumeration(text, place, field);
    }
    check_format(text, place, field.format);
  }

  // An empty text is as good as none: where one is required, "missing" says so.
  void check_format(std::string_view text, const Place& place, Format format) {
    const std::string wrong = text.empty() ? "" : objection(format, text);
    if (!wrong.empty()) {
      findings_.problem(place, fmt::format("{} {}", quoted(text), wrong));
    }
  }

  void check_enumeration(std::string_view text, const Place& place, const Field& field) {
    const bool known =
        std::find(field.values.begin(), field.values.end(), text) != field.values.end();
    if (known || (text.empty() && (field.empty_means_default || field.required))) {
      return;
    }
    const std::string_view meant = base::nearest(text, field.values);
    const std::string all =
        field.values.size() > kMaxListed ? "a known value" : listed(field.values, "or");
    findings_.problem(place, fmt::format("is {}, not {}{}", quoted(text), all,
                                         meant.empty() ? std::string()
                                                       : fmt::format(", did you mean {}?", meant)));
  }

  void check_number(const Json& value, const Place& place, const Field& field) {
    expect(is_in(field.range, value), value, place,
           value.is_number_integer() ? range_text(field.range) : "a whole number");
  }

  void check_port(const Json& value, const Place& place, const Field& field) {
    if (value.is_string()) {
      return check_port_name(base::text_of(&value), place, field);
    }
    expect(is_in({1, kMaxPort}, value), value, place, "a port from 1 to 65535 or its name");
  }

  void check_port_name(std::string_view text, const Place& place, const Field& field) {
    if (!text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos) {
      findings_.problem(place, fmt::format("{} is the name of a port, which needs a letter: write "
                                           "the number without quotes",
                                           quoted(text)));
      return;
    }
    check_format(text, place, field.format);
  }

  void expect(bool ok, const Json& value, const Place& place, std::string_view wanted) {
    if (!ok) {
      findings_.problem(place, fmt::format("is {}, not {}", value_text(value), wanted));
    }
  }

  void check_entries(const Json& value, const Place& place, FieldType type) {
    if (!value.is_object()) {
      findings_.problem(place, "is " + type_name(value) + ", not a mapping");
      return;
    }
    for (const auto& [key, entry] : value.items()) {
      const FieldType each = type == FieldType::StringMap ? FieldType::String : FieldType::Quantity;
      check_value(entry, place.member(key), {key, each});
    }
  }

  void check_choice(const Json& object, const Place& place, const Choice& choice) {
    std::vector<std::string_view> chosen;
    for (const std::string_view member : choice.members) {
      const Json* value = base::find(object, member);
      if (value != nullptr && !(value->is_string() && is_empty(value))) {
        chosen.push_back(member);
      }
    }
    if (chosen.size() > 1) {
      findings_.problem(place,
                        fmt::format("has {}: only one of them is allowed", listed(chosen, "and")));
    } else if (chosen.empty() && choice.needs_one && object.is_object()) {
      findings_.problem(place, fmt::format("needs one of {}", listed(choice.members, "or")));
    }
  }

  const TemplateOptions& options_;  // Not owned.
  Findings& findings_;              // Not owned; collects.
};

}  // namespace

Json without_nulls(const Json& value, Fields fields) {
  if (!value.is_object()) {
    return value;
  }
  Json kept = Json::object();
  for (const auto& [key, member] : value.items()) {
    const Field* field = find_field(fields, key);
    if (field == nullptr) {
      base::append_member(kept, key, member);  // To be reported.
    } else if (!member.is_null()) {
      base::append_member(kept, key, field_without_nulls(member, *field));
    }
  }
  return kept;
}

void check_fields(const Json& root, Fields fields, const TemplateOptions& options,
                  Findings& findings) {
  FieldCheck(options, findings).check_object(root, {}, fields);
}

}  // namespace injector::templates
