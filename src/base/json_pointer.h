// RFC 6901 pointers, as JSON Patch uses them. Pure; any thread.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace injector::base {

/// "/spec/a~1b" to {"spec", "a/b"}; "" is the whole document and has no tokens.
[[nodiscard]] Result<std::vector<std::string>> parse_pointer(std::string_view pointer);

/// Appends one step to `pointer`, escaped.
void append_token(std::string& pointer, std::string_view token);

/// The pointer to the member `key` of what `parent` points to.
[[nodiscard]] std::string pointer_to(std::string parent, std::string_view key);

/// An array index below or at `limit`: digits without a leading zero.
[[nodiscard]] Result<std::size_t> parse_index(std::string_view token, std::size_t limit);

}  // namespace injector::base
