#include "core/opt_in.h"

#include <algorithm>
#include <array>
#include <initializer_list>

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

void warn_if_misspelt(const StringMap& map, std::string_view what, const Policy& policy,
                      std::vector<Warning>& warnings) {
  for (const auto& [key, value] : map) {
    if (warnings.size() == kMaxTypos) {
      return;
    }
    if (key != policy.key && base::edit_distance(key, policy.key, kTypoDistance) <= kTypoDistance) {
      warnings.push_back(
          {WarningCode::MisspeltKey, fmt::format("{} {} does nothing: did you mean {}?", what,
                                                 base::echoed(key), policy.key)});
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
    const std::string* value = place.map == nullptr ? nullptr : find(*place.map, policy.key);
    if (value != nullptr) {
      return {answer_of(*value), place.rule, *value};
    }
  }
  return {policy.inject_by_default ? Answer::Yes : Answer::No, Rule::Default, {}};
}

std::vector<Warning> misspelt_keys(const PodFacts& pod, const Policy& policy) {
  std::vector<Warning> warnings;
  warn_if_misspelt(pod.annotations, "pod annotation", policy, warnings);
  warn_if_misspelt(pod.labels, "pod label", policy, warnings);
  return warnings;
}

std::vector<Warning> misplaced_keys(const MetaFacts& workload, std::string_view template_path,
                                    const Policy& policy) {
  const bool annotated = find(workload.annotations, policy.key) != nullptr;
  if (!annotated && find(workload.labels, policy.key) == nullptr) {
    return {};
  }
  return {{WarningCode::MisplacedKey,
           fmt::format("metadata.{0}[{1}] does nothing here: move it to {2}.metadata.{0}",
                       annotated ? "annotations" : "labels", policy.key, template_path)}};
}

}  // namespace injector::core
