#include "base/json_string.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include <fmt/format.h>

#include "base/json.h"

namespace injector::base {
namespace {

// Printable ASCII that stands for itself in a JSON string.
bool is_plain(char c) noexcept {
  return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

void append_escape(std::string& out, char c) {
  switch (c) {
    case '"':
    case '\\':
      out += '\\';
      out += c;
      return;
    case '\b':
      out += "\\b";
      return;
    case '\f':
      out += "\\f";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
  }
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const auto end = std::find_if_not(text.begin(), text.end(), is_plain);
    const auto plain = static_cast<std::size_t>(end - text.begin());
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) {
      break;
    }
    const char next = text.front();
    if (next < 0) {  // Not ASCII: nlohmann checks the UTF-8 of the rest, and ends the string.
      out += std::string_view(to_text(Json(text))).substr(1);
      return;
    }
    if (next == 0x7f) {
      out += next;
    } else {
      append_escape(out, next);
    }
    text.remove_prefix(1);
  }
  out += '"';
}

}  // namespace injector::base
