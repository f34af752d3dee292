// What the operator configured about the decision itself.

#pragma once

#include <string>
#include <string_view>

namespace injector::core {

enum class OnConflict { Reject, Skip };

struct Policy {
  std::string key = "initializer.kubernetes.io/envoy";
  bool inject_by_default = false;  // The answer where neither Pod nor Namespace has one.
  OnConflict on_conflict = OnConflict::Reject;

  [[nodiscard]] std::string status_key() const {
    constexpr std::string_view kSuffix = "-status";
    std::string text;
    text.reserve(key.size() + kSuffix.size());
    return text.append(key).append(kSuffix);
  }
};

}  // namespace injector::core
