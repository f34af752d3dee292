// The keys by which a strategic merge patch says more than values can.

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

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

/// The members of a JSON object, for loops that need keys.
[[nodiscard]] inline const base::Json::object_t& members_of(const base::Json& object) {
  return object.get_ref<const base::Json::object_t&>();
}

enum class Nulls { Keep, Drop };

/// A copy without the maps that carry $patch, at any depth: for values that are new to the object,
/// where there is nothing to patch. Nothing if `value` itself is such a map.
[[nodiscard]] std::optional<base::Json> without_directives(const base::Json& value, Nulls nulls);

/// The same for the elements of a list.
[[nodiscard]] base::Json elements_without_directives(const base::Json& list, Nulls nulls);

}  // namespace injector::patch
