// Numbers as go-yaml reads and Go prints them.
//
// All functions are pure and may be called from any thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/json.h"

namespace injector::yaml {

using Number = std::variant<std::int64_t, std::uint64_t, double>;

/// The place behind the digits, or the sign, that stand at `at`.
[[nodiscard]] std::size_t skip_digits(std::string_view text, std::size_t at);
[[nodiscard]] std::size_t skip_sign(std::string_view text, std::size_t at);

/// With 0x, 0o, 0b, or a leading 0 for octal; no more than 64 bits.
[[nodiscard]] std::optional<Number> parse_integer(std::string_view text);

/// A number that begins with a digit or a sign.
[[nodiscard]] std::optional<Number> parse_number(std::string_view text);

/// A number that begins with its point, which is stricter about underscores than all others.
[[nodiscard]] std::optional<double> parse_fraction(std::string_view text);

/// Go's %g with the fewest digits that tell two 32-bit floats apart.
[[nodiscard]] std::string float_key(double value);

/// An integer where the value is one: JSON does not tell 1.0 from 1, and Kubernetes reads the JSON.
[[nodiscard]] base::Json integral_or_float(double value);

}  // namespace injector::yaml
