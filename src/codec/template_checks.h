// The rules of Kubernetes that a template can break before any Pod exists. Pure; any thread.

#pragma once

#include <string_view>

#include "base/json.h"

namespace injector::codec {

/// Lower-case letters, digits and dashes, at most 63: the name of a container or volume.
[[nodiscard]] bool is_dns_label(std::string_view text) noexcept;

/// [prefix/]name, as keys of labels and annotations are.
[[nodiscard]] bool is_qualified_name(std::string_view text);

[[nodiscard]] bool is_label_value(std::string_view text) noexcept;

/// "100m", "0.5", "64Mi", "1e3", or a plain number.
[[nodiscard]] bool is_quantity(const base::Json& value);

}  // namespace injector::codec
