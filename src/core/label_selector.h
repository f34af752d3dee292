// Label selectors of Kubernetes: matchLabels and matchExpressions. Pure; any thread.

#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "core/string_map.h"

namespace injector::core {

struct LabelRequirement {
  enum class Operator { In, NotIn, Exists, DoesNotExist };

  std::string key;
  Operator op = Operator::Exists;
  std::vector<std::string> values = {};  // Of In and NotIn.

  bool operator==(const LabelRequirement&) const = default;
};

/// All requirements have to be met; one without any is met by everything.
struct LabelSelector {
  std::vector<LabelRequirement> requirements;

  /// As Kubernetes does it: NotIn is met by an object without the label.
  [[nodiscard]] bool matches(const StringMap& labels) const;

  bool operator==(const LabelSelector&) const = default;
};

/// From a metav1.LabelSelector. An Error says which part is malformed:
/// "matchExpressions[0].operator: ...".
[[nodiscard]] base::Result<LabelSelector> read_label_selector(const base::Json& value);

}  // namespace injector::core
