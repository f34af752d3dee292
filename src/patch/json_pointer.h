// RFC 6901 pointers, as JSON Patch uses them.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace injector::patch {

/// "/spec/a~1b" to {"spec", "a/b"}; "" is the whole document and has no tokens.
[[nodiscard]] base::Result<std::vector<std::string>> parse_pointer(std::string_view pointer);

/// Appends one step to `pointer`, escaped.
void append_token(std::string& pointer, std::string_view token);

/// An array index below or at `limit`: digits without a leading zero.
[[nodiscard]] base::Result<std::size_t> parse_index(std::string_view token, std::size_t limit);

}  // namespace injector::patch
