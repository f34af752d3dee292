// Base64 with the standard alphabet and padding (RFC 4648, section 4). Pure; any thread.

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace injector::base {

[[nodiscard]] std::string base64_encode(std::string_view bytes);
void append_base64(std::string& out, std::string_view bytes);

/// Line breaks are skipped, as Go's decoder does it; anything else that does not belong is no
/// answer.
[[nodiscard]] std::optional<std::string> base64_decode(std::string_view text);

}  // namespace injector::base
