#include "core/opt_in.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/ascii.h"
#include "base/edit_distance.h"
#include "base/printable.h"

namespace injector::core {
namespace {

constexpr std::size_t kTypoDistance = 2;
constexpr std::size_t kMaxTypos = 3;  // Warnings; who writes more of them has other plans.

bool is_any_of(std::string_view value, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return base::same_ignoring_case(value, word); });
}

Answer answer_of(std::string_view value) {
  if (is_any_of(value, {"true", "enabled"})) {
    return Answer::Yes;
  }
  return is_any_of(value, {"false", "disabled"}) ? Answer::No : Answer::Unclear;
}

constexpr std::size_t kMaxNames = 32;  // Of templates; who writes more means something else.

// The names in "a, b"; none if it is no list of names.
std::vector<std::string> names_in(std::string_view list) {
  std::vector<std::string> names;
  while (true) {
    const std::size_t comma = list.find(',');
    std::string_view name = list.substr(0, comma);
    name.remove_prefix(std::min(name.find_first_not_of(" \t\n"), name.size()));
    name = name.substr(0, name.find_last_not_of(" \t\n") + 1);
    if (name.empty() || names.size() == kMaxNames) {
      return {};
    }
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      names.emplace_back(name);
    }
    if (comma == std::string_view::npos) {
      return names;
    }
    list.remove_prefix(comma + 1);
  }
}

const std::string* find_templates(const StringMap& map, const Policy& policy) {
  const auto found = std::find_if(map.begin(), map.end(), [&](const auto& entry) {
    return policy.is_templates_key(entry.first);
  });
  return found == map.end() ? nullptr : &found->second;
}

OptIn by_names(Rule rule, const std::string& value) {
  OptIn asked{Answer::Yes, rule, value, names_in(value), true};
  if (asked.names.empty()) {
    asked.answer = Answer::Unclear;
  }
  return asked;
}

// What one place says; nothing if it has neither key.
std::optional<OptIn> answer_at(const StringMap& map, Rule rule, const Policy& policy) {
  const std::string* value = find(map, policy.key);
  const Answer answer = value == nullptr ? Answer::Yes : answer_of(*value);
  if (answer != Answer::Yes) {
    return OptIn{answer, rule, *value};
  }
  if (const std::string* names = find_templates(map, policy)) {
    return by_names(rule, *names);
  }
  return value == nullptr ? std::nullopt : std::optional<OptIn>({Answer::Yes, rule, *value});
}

void warn_if_misspelt(const StringMap& map, std::string_view what, const Policy& policy,
                      std::vector<Warning>& warnings) {
  const std::array<std::string, 2> keys = {policy.key, policy.templates_key()};
  for (const auto& [key, value] : map) {
    for (const std::string& meant : keys) {
      if (warnings.size() == kMaxTypos) {
        return;
      }
      if (key != meant && base::edit_distance(key, meant, kTypoDistance) <= kTypoDistance) {
        warnings.push_back(
            {WarningCode::MisspeltKey,
             fmt::format("{} {} does nothing: did you mean {}?", what, base::echoed(key), meant)});
      }
    }
  }
}

}  // namespace

OptIn opt_in(const PodFacts& pod, const MetaFacts* name_space, const Policy& policy) {
  struct Place {
    Rule rule;
    const StringMap* map;  // Null: nothing is known of it.
  };

  const std::array<Place, 4> places = {{
      {Rule::PodAnnotation, &pod.annotations},
      {Rule::PodLabel, &pod.labels},
      {Rule::NamespaceAnnotation, name_space == nullptr ? nullptr : &name_space->annotations},
      {Rule::NamespaceLabel, name_space == nullptr ? nullptr : &name_space->labels},
  }};
  for (const Place& place : places) {
    if (place.map == nullptr) {
      continue;
    }
    if (auto asked = answer_at(*place.map, place.rule, policy)) {
      return *std::move(asked);
    }
  }
  return {policy.inject_by_default ? Answer::Yes : Answer::No, Rule::Default};
}

OptIn opt_in(const PodFacts& pod, const MetaFacts* name_space, const TemplateSet& templates,
             const Policy& policy) {
  OptIn asked = opt_in(pod, name_space, policy);
  const bool nobody_asked = asked.answer == Answer::No && asked.rule == Rule::Default;
  if (nobody_asked && templates.has_selectors() &&
      !templates.selected_for(pod, name_space).empty()) {
    return {Answer::Yes, Rule::Selector};
  }
  return asked;
}

std::string key_of(const OptIn& asked, const Policy& policy) {
  return asked.by_templates_key ? policy.templates_key() : policy.key;
}

std::vector<Warning> misspelt_keys(const PodFacts& pod, const Policy& policy) {
  std::vector<Warning> warnings;
  warn_if_misspelt(pod.annotations, "pod annotation", policy, warnings);
  warn_if_misspelt(pod.labels, "pod label", policy, warnings);
  return warnings;
}

std::vector<Warning> misplaced_keys(const MetaFacts& workload, std::string_view template_path,
                                    const Policy& policy) {
  std::vector<Warning> warnings;
  for (const std::string& key : {policy.key, policy.templates_key()}) {
    const bool annotated = find(workload.annotations, key) != nullptr;
    if (annotated || find(workload.labels, key) != nullptr) {
      warnings.push_back(
          {WarningCode::MisplacedKey,
           fmt::format("metadata.{0}[{1}] does nothing here: move it to {2}.metadata.{0}",
                       annotated ? "annotations" : "labels", key, template_path)});
    }
  }
  return warnings;
}

}  // namespace injector::core
