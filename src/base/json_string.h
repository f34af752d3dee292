// JSON strings without a document, for text that is written by hand in a hot path. Pure; any
// thread.

#pragma once

#include <string>
#include <string_view>

namespace injector::base {

/// Appends `text` as a JSON string, quotes included: what write_json(Json(text)) gives.
void append_json_string(std::string& out, std::string_view text);

}  // namespace injector::base
