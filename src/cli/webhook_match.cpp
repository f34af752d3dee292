#include "cli/webhook_match.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include <fmt/format.h>

#include "cli/match_condition.h"

namespace injector::cli {
namespace {

using base::Json;

const Json& empty_list() {
  static const Json kEmpty = Json::array();
  return kEmpty;
}

const Json& list_of(const Json& object, std::string_view field) {
  const Json* list = base::find(object, field);
  return list != nullptr && list->is_array() ? *list : empty_list();
}

bool lists_any(const Json& rule, std::string_view field,
               std::initializer_list<std::string_view> values) {
  const Json& list = list_of(rule, field);
  return std::any_of(list.begin(), list.end(), [&](const Json& item) {
    return std::find(values.begin(), values.end(), base::text_of(&item)) != values.end();
  });
}

bool rule_is_for_new_pods(const Json& rule) {
  return base::text_of(base::find(rule, "scope")) != "Cluster" &&
         lists_any(rule, "operations", {"CREATE", "*"}) &&
         lists_any(rule, "apiGroups", {"", "*"}) && lists_any(rule, "apiVersions", {"v1", "*"}) &&
         lists_any(rule, "resources", {"pods", "*", "*/*"});
}

bool fits(const Json& expression, const Json* labels) {
  const std::string_view key = base::text_of(base::find(expression, "key"));
  const std::string_view operation = base::text_of(base::find(expression, "operator"));
  const Json* value = labels == nullptr ? nullptr : base::find(*labels, key);
  if (operation == "Exists") {
    return value != nullptr;
  }
  if (operation == "DoesNotExist") {
    return value == nullptr;
  }
  const Json& values = list_of(expression, "values");
  const bool listed =
      value != nullptr && std::any_of(values.begin(), values.end(),
                                      [&](const Json& one) { return base::same(one, *value); });
  return operation == "NotIn" ? !listed : listed;
}

std::string describe(const Json& expression) {
  std::string text = fmt::format("{} {}", base::text_of(base::find(expression, "key")),
                                 base::text_of(base::find(expression, "operator")));
  const Json& values = list_of(expression, "values");
  return values.empty() ? text : text + " " + base::to_text(values);
}

// The first requirement that these labels do not meet; empty: they meet all.
std::string unmet(const Json& selector, const Json* labels) {
  if (const Json* wanted = base::find(selector, "matchLabels");
      wanted != nullptr && wanted->is_object()) {
    for (const auto& [key, value] : wanted->items()) {
      const Json* label = labels == nullptr ? nullptr : base::find(*labels, key);
      if (label == nullptr || !base::same(*label, value)) {
        return fmt::format("{}={}", key, base::text_of(&value));
      }
    }
  }
  for (const Json& expression : list_of(selector, "matchExpressions")) {
    if (!fits(expression, labels)) {
      return describe(expression);
    }
  }
  return {};
}

bool is_empty(const Json* selector) {
  if (selector == nullptr || !selector->is_object()) {
    return true;
  }
  const Json* labels = base::find(*selector, "matchLabels");
  return (labels == nullptr || labels->empty()) && list_of(*selector, "matchExpressions").empty();
}

// A Namespace has the label of its own name on every server since 1.21; do not rely on it.
CallVerdict by_namespace(const Json& webhook, const PodRequest& request) {
  const Json* selector = base::find(webhook, "namespaceSelector");
  if (is_empty(selector)) {
    return {};
  }
  if (request.name_space_object == nullptr) {
    return {Called::Unknown, "namespaceSelector: the Namespace's labels are not known"};
  }
  const std::string missing =
      unmet(*selector, base::find(*request.name_space_object, "metadata", "labels"));
  return missing.empty()
             ? CallVerdict{}
             : CallVerdict{Called::No, fmt::format("namespaceSelector: Namespace {} does not meet "
                                                   "\"{}\"",
                                                   request.name_space, missing)};
}

CallVerdict by_object(const Json& webhook, const PodRequest& request) {
  const Json* selector = base::find(webhook, "objectSelector");
  if (is_empty(selector)) {
    return {};
  }
  const std::string missing = unmet(*selector, base::find(request.pod, "metadata", "labels"));
  return missing.empty()
             ? CallVerdict{}
             : CallVerdict{Called::No, fmt::format("objectSelector: the Pod's labels do not meet "
                                                   "\"{}\"",
                                                   missing)};
}

Json variables_of(const PodRequest& request) {
  Json variables = Json::object();
  variables["object"] = request.pod;
  variables["oldObject"] = nullptr;
  variables["request"] = Json({{"operation", "CREATE"}, {"namespace", request.name_space}});
  return variables;
}

CallVerdict by_conditions(const Json& webhook, const PodRequest& request) {
  const Json variables = variables_of(request);
  CallVerdict verdict;
  for (const Json& condition : list_of(webhook, "matchConditions")) {
    const std::string_view name = base::text_of(base::find(condition, "name"));
    const auto holds =
        evaluate_condition(base::text_of(base::find(condition, "expression")), variables);
    if (holds && !*holds) {
      return {Called::No, fmt::format("matchCondition \"{}\" does not hold", name)};
    }
    if (!holds && verdict.called == Called::Yes) {
      verdict = {Called::Unknown,
                 fmt::format("matchCondition \"{}\" cannot be evaluated here", name)};
    }
  }
  return verdict;
}

}  // namespace

std::string_view to_string(Called called) noexcept {
  switch (called) {
    case Called::Yes:
      return "yes";
    case Called::No:
      return "no";
    case Called::Unknown:
      break;
  }
  return "unknown";
}

bool is_for_new_pods(const Json& webhook) {
  const Json& rules = list_of(webhook, "rules");
  return std::any_of(rules.begin(), rules.end(), rule_is_for_new_pods);
}

CallVerdict would_call(const Json& webhook, const PodRequest& request) {
  if (!is_for_new_pods(webhook)) {
    return {Called::No, "rules: none is for the creation of Pods"};
  }
  CallVerdict unknown;
  for (CallVerdict verdict : {by_namespace(webhook, request), by_object(webhook, request),
                              by_conditions(webhook, request)}) {
    if (verdict.called == Called::No) {
      return verdict;
    }
    if (verdict.called == Called::Unknown && unknown.called == Called::Yes) {
      unknown = std::move(verdict);
    }
  }
  return unknown;
}

}  // namespace injector::cli
