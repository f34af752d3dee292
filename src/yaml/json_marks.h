// The places of the values in JSON text, for editing it in place. Pure; any thread.

#pragma once

#include <string_view>

#include "base/result.h"
#include "yaml/yaml.h"

namespace injector::yaml {

/// Reads JSON as read_json does, and notes where each value stands. Lines and columns are not
/// counted, only bytes; every collection is a flow collection.
[[nodiscard]] base::Result<YamlSource> read_json_with_marks(std::string_view text);

}  // namespace injector::yaml
