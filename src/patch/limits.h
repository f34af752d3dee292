#pragma once

#include <initializer_list>

#include "base/json.h"
#include "base/result.h"

namespace injector::patch {

/// Everything behind it recurses: an error if one of the documents is nested too deep to do so.
[[nodiscard]] base::Result<void> check_depth(std::initializer_list<const base::Json*> documents);

}  // namespace injector::patch
