// Fields that occur in containers and in volumes. For core_v1_*.cpp only.

#pragma once

#include <string_view>

#include "template/field_words.h"

namespace injector::templates {

// NOLINTBEGIN(modernize-avoid-c-arrays): a table is as long as it is; std::array wants to be told.

inline constexpr std::string_view kApiVersions[] = {"v1"};
inline constexpr std::string_view kPullPolicies[] = {"Always", "IfNotPresent", "Never"};
inline constexpr Field kResourceFieldRef[] = {
    text("containerName"), required(text("resource", Format::ResourcePath)), quantity("divisor")};

// NOLINTEND(modernize-avoid-c-arrays)

}  // namespace injector::templates
