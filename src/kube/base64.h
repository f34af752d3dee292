// Base64 with padding, as kubeconfig's "...-data" fields and basic authentication have it.
//
// Pure; may be called from any thread.

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace injector::kube {

[[nodiscard]] std::string encode_base64(std::string_view bytes);

/// Line breaks are skipped; anything else that is not base64 is refused.
[[nodiscard]] std::optional<std::string> decode_base64(std::string_view text);

}  // namespace injector::kube
