// JSON literals for tests: "{...}"_j.

#pragma once

#include <string_view>

#include <catch2/catch.hpp>

#include "base/json.h"
#include "base/json_text.h"
#include "base/result.h"

namespace injector::patch {

inline base::Json operator""_j(const char* text, std::size_t size) {
  base::Result<base::Json> value = base::read_json(std::string_view(text, size));
  INFO(text);
  REQUIRE(value.has_value());
  return std::move(value).value();
}

/// The value as text, or the error: one CHECK then shows either.
inline std::string shown(const base::Result<base::Json>& result) {
  return result ? base::write_json(result.value()) : "error: " + result.error().message;
}

inline std::string shown(const base::Json& value) {
  return base::write_json(value);
}

}  // namespace injector::patch
