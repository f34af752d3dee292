// The keys by which a strategic merge patch says more than values can.

#pragma once

#include <string>
#include <string_view>

namespace injector::patch {

inline constexpr std::string_view kPatchDirective = "$patch";
inline constexpr std::string_view kRetainKeysDirective = "$retainKeys";
inline constexpr std::string_view kSetElementOrderPrefix = "$setElementOrder";
inline constexpr std::string_view kDeleteFromListPrefix = "$deleteFromPrimitiveList";

inline constexpr std::string_view kDelete = "delete";
inline constexpr std::string_view kReplace = "replace";

[[nodiscard]] inline std::string directive_for(std::string_view prefix, std::string_view field) {
  std::string key(prefix);
  return key.append("/").append(field);
}

}  // namespace injector::patch
