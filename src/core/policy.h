// What the operator configured about the decision itself.

#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace injector::core {

enum class OnConflict { Reject, Skip };

/// Reads the text of an overrides annotation. Pure; any thread.
using OverridesReader = base::Result<base::Json> (*)(std::string_view text);

struct Policy {
  std::string key = "initializer.kubernetes.io/envoy";
  bool inject_by_default = false;  // The answer where neither Pod nor Namespace has one.
  OnConflict on_conflict = OnConflict::Reject;
  OverridesReader read_overrides = nullptr;  // YAML is not read in here; null: JSON only.

  [[nodiscard]] std::string status_key() const {
    constexpr std::string_view kSuffix = "-status";
    std::string text;
    text.reserve(key.size() + kSuffix.size());
    return text.append(key).append(kSuffix);
  }

  // The other keys stand beside the first: initializer.kubernetes.io/templates.

  [[nodiscard]] std::string templates_key() const { return prefix() + "templates"; }

  [[nodiscard]] std::string overrides_key() const { return prefix() + "overrides"; }

  // Without making the key.

  [[nodiscard]] bool is_status_key(std::string_view other) const noexcept {
    constexpr std::string_view kEnd = "-status";
    return other.size() == key.size() + kEnd.size() && other.substr(key.size()) == kEnd &&
           other.substr(0, key.size()) == key;
  }

  [[nodiscard]] bool is_templates_key(std::string_view other) const noexcept {
    return is_beside(other, "templates");
  }

  [[nodiscard]] bool is_overrides_key(std::string_view other) const noexcept {
    return is_beside(other, "overrides");
  }

 private:
  [[nodiscard]] std::size_t prefix_size() const noexcept {
    const std::size_t slash = key.rfind('/');
    return slash == std::string::npos ? 0 : slash + 1;
  }

  [[nodiscard]] std::string prefix() const { return key.substr(0, prefix_size()); }

  [[nodiscard]] bool is_beside(std::string_view other, std::string_view name) const noexcept {
    const std::size_t size = prefix_size();
    return other.size() == size + name.size() && other.substr(size) == name &&
           other.substr(0, size) == std::string_view(key).substr(0, size);
  }
};

}  // namespace injector::core
