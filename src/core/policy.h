// What the operator configured about the decision itself.

#pragma once

#include <string>

namespace injector::core {

enum class OnConflict { Reject, Skip };

struct Policy {
  std::string key = "initializer.kubernetes.io/envoy";
  bool inject_by_default = false;  // The answer where neither Pod nor Namespace has one.
  OnConflict on_conflict = OnConflict::Reject;

  [[nodiscard]] std::string status_key() const { return key + "-status"; }
};

}  // namespace injector::core
