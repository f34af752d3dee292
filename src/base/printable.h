// Text that somebody else wrote, made fit for our log lines, messages, Events and a terminal:
// bounded, and without characters that change what a reader sees. Those are escaped as in JSON (\n,
// \u202e), a byte that is not UTF-8 as \xff:
//   - control characters: C0, DEL, C1;
//   - bidirectional controls, which make text read in another order than it is written in;
//   - the line and the paragraph separator.
//
// All functions are pure and may be called from any thread.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace injector::base {

/// Of a value that a message repeats, this many characters are shown.
inline constexpr std::size_t kEchoLimit = 100;

/// A value as a message may repeat it: escaped, and where it is longer than kEchoLimit characters,
/// its beginning, an ellipsis and its length: "aaaa… (2600000 characters)".
[[nodiscard]] std::string echoed(std::string_view value);

/// A whole message of ours that may hold foreign text: escaped but for line breaks and tabs, not
/// cut.
[[nodiscard]] std::string printable(std::string_view text);

/// Whether echoed() would escape anything.
[[nodiscard]] bool needs_escapes(std::string_view text) noexcept;

/// JSON text with the same characters as escapes, where JSON allows them raw. Means the same JSON.
[[nodiscard]] std::string escape_json_text(std::string_view json);

/// At most `limit` bytes (at least 3): cut between characters, with an ellipsis in place of what is
/// left out.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t limit);

}  // namespace injector::base
