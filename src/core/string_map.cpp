#include "core/string_map.h"

#include <algorithm>

namespace injector::core {

const std::string* find(const StringMap& map, std::string_view key) noexcept {
  const auto found =
      std::find_if(map.begin(), map.end(), [&](const auto& entry) { return entry.first == key; });
  return found == map.end() ? nullptr : &found->second;
}

}  // namespace injector::core
