// matchConditions of webhook registrations: enough of CEL for those in our manifests, and for most
// that people write in their place.
//
// Understood: object, oldObject and request with their fields by dot or index, string, number and
// boolean literals, lists, has(), in, ==, !=, !, &&, ||, ?:, startsWith, endsWith, contains and
// lowerAscii; optional fields (a.?b, a[?'b']) with orValue and hasValue. As in CEL, `false && x` is
// false and `true || x` is true also where x is an error.
//
// Pure; any thread.

#pragma once

#include <optional>
#include <string_view>

#include "base/json.h"

namespace injector::cli {

/// `variables` has the members object, oldObject and request. Nothing: the expression holds what is
/// not understood here, or is an error for these variables.
[[nodiscard]] std::optional<bool> evaluate_condition(std::string_view expression,
                                                     const base::Json& variables);

}  // namespace injector::cli
