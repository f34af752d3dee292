// Labels or annotations in the author's order.

#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace injector::core {

using StringMap = std::vector<std::pair<std::string, std::string>>;

/// The value of `key`; null where there is none.
[[nodiscard]] const std::string* find(const StringMap& map, std::string_view key) noexcept;

}  // namespace injector::core
