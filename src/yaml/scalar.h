// What a YAML scalar means to Kubernetes: the YAML 1.1 types as go-yaml resolves them, which is not
// quite what any edition of the specification says. `09` is the number 9, `1:30` and dates are
// text.
//
// All functions are pure and may be called from any thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/json.h"
#include "base/result.h"

namespace injector::yaml {

using ScalarValue =
    std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string>;

/// The value of a plain scalar without a tag.
[[nodiscard]] ScalarValue resolve_plain(std::string_view text);

/// The value of a scalar with an explicit tag ("tag:yaml.org,2002:int"), however it is quoted. An
/// unknown tag makes it a string. The error does not name the place.
[[nodiscard]] base::Result<ScalarValue> resolve_tagged(std::string_view text, std::string_view tag);

/// As a JSON value: a float without a fraction becomes an integer; infinity and NaN are errors.
[[nodiscard]] base::Result<base::Json> scalar_to_json(ScalarValue value);

/// As the key of a JSON object: numbers and booleans become text; null is an error.
[[nodiscard]] base::Result<std::string> scalar_to_key(ScalarValue value);

}  // namespace injector::yaml
