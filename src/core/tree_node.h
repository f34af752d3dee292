// base::Json as a Node of core/gather.h.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace injector::core {

class TreeNode {
 public:
  explicit TreeNode(const base::Json* value)
      : value_(value) {}

  [[nodiscard]] bool exists() const { return value_ != nullptr; }

  [[nodiscard]] bool is_null() const { return exists() && value_->is_null(); }

  [[nodiscard]] bool is_object() const { return exists() && value_->is_object(); }

  [[nodiscard]] bool is_array() const { return exists() && value_->is_array(); }

  [[nodiscard]] std::size_t size() const { return is_object() || is_array() ? value_->size() : 0; }

  [[nodiscard]] std::optional<std::string_view> text() const {
    if (!exists() || !value_->is_string()) {
      return std::nullopt;
    }
    return base::text_of(value_);
  }

  [[nodiscard]] std::optional<bool> boolean() const {
    if (!exists() || !value_->is_boolean()) {
      return std::nullopt;
    }
    return value_->get<bool>();
  }

  [[nodiscard]] std::optional<std::int64_t> integer() const {
    if (!exists() || !value_->is_number_integer()) {
      return std::nullopt;
    }
    return value_->get<std::int64_t>();
  }

  [[nodiscard]] TreeNode member(std::string_view key) const {
    return TreeNode(value_ == nullptr ? nullptr : base::find(*value_, key));
  }

  template <class F>
  void each_member(F visit) const {
    for (const auto& [key, value] : value_->items()) {
      visit(std::string_view(key), TreeNode(&value));
    }
  }

  template <class F>
  void each_element(F visit) const {
    for (const base::Json& value : *value_) {
      visit(TreeNode(&value));
    }
  }

  [[nodiscard]] std::string json() const { return base::to_text(*value_); }

 private:
  const base::Json* value_;  // Not owned; null where the document has no such node.
};

}  // namespace injector::core
