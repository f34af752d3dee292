#include "core/label_selector.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace injector::core {
namespace {

using base::Json;
using Operator = LabelRequirement::Operator;

bool meets(const LabelRequirement& requirement, const StringMap& labels) {
  const std::string* value = find(labels, requirement.key);
  const auto& values = requirement.values;
  const bool listed =
      value != nullptr && std::find(values.begin(), values.end(), *value) != values.end();
  switch (requirement.op) {
    case Operator::In:
      return listed;
    case Operator::NotIn:
      return !listed;
    case Operator::Exists:
      return value != nullptr;
    case Operator::DoesNotExist:
      return value == nullptr;
  }
  return false;
}

std::optional<Operator> read_operator(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, Operator>, 4> kOperators = {{
      {"In", Operator::In},
      {"NotIn", Operator::NotIn},
      {"Exists", Operator::Exists},
      {"DoesNotExist", Operator::DoesNotExist},
  }};
  for (const auto& [word, op] : kOperators) {
    if (word == text) {
      return op;
    }
  }
  return std::nullopt;
}

bool is_absent(const Json* value) {
  return value == nullptr || value->is_null();
}

base::Result<void> read_labels(const Json& map, LabelSelector& selector) {
  if (!map.is_object()) {
    return base::invalid("matchLabels: not a mapping");
  }
  for (const auto& [key, value] : map.items()) {
    if (!value.is_string()) {
      return base::invalid(fmt::format("matchLabels[{}]: not a string", key));
    }
    selector.requirements.push_back({key, Operator::In, {value.get<std::string>()}});
  }
  return {};
}

base::Result<std::vector<std::string>> read_values(const Json* list) {
  std::vector<std::string> values;
  if (is_absent(list)) {
    return values;
  }
  if (!list->is_array()) {
    return base::invalid("values: not a list");
  }
  for (const Json& value : *list) {
    if (!value.is_string()) {
      return base::invalid("values: not a list of strings");
    }
    values.push_back(value.get<std::string>());
  }
  return values;
}

base::Result<LabelRequirement> read_requirement(const Json& item) {
  const std::string_view key = base::text_of(base::find(item, "key"));
  if (key.empty()) {
    return base::invalid("key: missing");
  }
  const auto op = read_operator(base::text_of(base::find(item, "operator")));
  if (!op) {
    return base::invalid("operator: is none of In, NotIn, Exists and DoesNotExist");
  }
  INJ_ASSIGN(auto values, read_values(base::find(item, "values")));
  const bool wants_values = *op == Operator::In || *op == Operator::NotIn;
  if (wants_values == values.empty()) {
    return base::invalid(wants_values ? "values: missing" : "values: must not be there");
  }
  return LabelRequirement{std::string(key), *op, std::move(values)};
}

base::Result<void> read_expressions(const Json& list, LabelSelector& selector) {
  if (!list.is_array()) {
    return base::invalid("matchExpressions: not a list");
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    auto requirement = read_requirement(list.at(i));
    if (!requirement) {
      base::Error error = std::move(requirement).error();
      error.message = fmt::format("matchExpressions[{}].{}", i, error.message);
      return error;
    }
    selector.requirements.push_back(std::move(requirement).value());
  }
  return {};
}

}  // namespace

bool LabelSelector::matches(const StringMap& labels) const {
  return std::all_of(requirements.begin(), requirements.end(),
                     [&](const LabelRequirement& each) { return meets(each, labels); });
}

base::Result<LabelSelector> read_label_selector(const Json& value) {
  if (!value.is_object()) {
    return base::invalid("not a mapping");
  }
  for (const auto& [key, part] : value.items()) {
    if (key != "matchLabels" && key != "matchExpressions") {
      return base::invalid(
          fmt::format("{}: a selector has matchLabels and matchExpressions only", key));
    }
  }
  LabelSelector selector;
  if (const Json* labels = base::find(value, "matchLabels"); !is_absent(labels)) {
    INJ_TRY(read_labels(*labels, selector));
  }
  if (const Json* expressions = base::find(value, "matchExpressions"); !is_absent(expressions)) {
    INJ_TRY(read_expressions(*expressions, selector));
  }
  return selector;
}

}  // namespace injector::core
