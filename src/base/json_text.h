// JSON text in and out. Reading is strict and safe on hostile text: nesting beyond kMaxJsonDepth,
// invalid UTF-8, NaN and trailing text are errors that name line and column. A duplicate key keeps
// its first place and its last value, as Kubernetes does it.
//
// All functions are pure and may be called from any thread.

#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace injector::base {

[[nodiscard]] Result<Json> read_json(std::string_view text);

/// One line without spaces, or indented; no newline at the end. Never fails: a byte that is not
/// UTF-8 (which read_json lets nobody in with) is written as U+FFFD.
[[nodiscard]] std::string write_json(const Json& value);
[[nodiscard]] std::string write_json_pretty(const Json& value);

}  // namespace injector::base
