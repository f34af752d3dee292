#include "base/printable.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

namespace injector::base {
namespace {

constexpr std::string_view kEllipsis = "…";
static_assert(kEllipsis.size() == 3);

struct Character {
  std::size_t size = 1;           // In bytes.
  std::optional<char32_t> point;  // Empty: a byte that is not UTF-8.
};

struct Lead {
  std::size_t size;
  char32_t bits;
  char32_t smallest;  // Anything below could be written in fewer bytes.
};

std::optional<Lead> lead_of(unsigned char byte) {
  if (byte < 0x80) {
    return Lead{1, byte, 0};
  }
  if (byte >= 0xc0 && byte < 0xe0) {
    return Lead{2, byte & 0x1fU, 0x80};
  }
  if (byte >= 0xe0 && byte < 0xf0) {
    return Lead{3, byte & 0x0fU, 0x800};
  }
  if (byte >= 0xf0 && byte < 0xf8) {
    return Lead{4, byte & 0x07U, 0x10000};
  }
  return std::nullopt;
}

bool is_scalar(char32_t point) {
  return point <= 0x10ffff && (point < 0xd800 || point > 0xdfff);
}

// The first character of `text`, which is not empty.
Character first_of(std::string_view text) {
  const auto lead = lead_of(static_cast<unsigned char>(text.front()));
  if (!lead || lead->size > text.size()) {
    return {};
  }
  char32_t point = lead->bits;
  for (std::size_t i = 1; i < lead->size; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xc0U) != 0x80U) {
      return {};
    }
    point = (point << 6U) | (byte & 0x3fU);
  }
  return point >= lead->smallest && is_scalar(point) ? Character{lead->size, point} : Character{};
}

bool is_control(char32_t point) {
  return point < 0x20 || (point >= 0x7f && point <= 0x9f);
}

bool changes_direction(char32_t point) {
  return point == 0x61c || point == 0x200e || point == 0x200f ||
         (point >= 0x202a && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069);
}

bool misleads(char32_t point) {
  return is_control(point) || changes_direction(point) || point == 0x2028 || point == 0x2029;
}

std::string escape_of(const Character& character, std::string_view bytes) {
  if (!character.point) {
    return fmt::format("\\x{:02x}", static_cast<unsigned char>(bytes.front()));
  }
  switch (*character.point) {
    case U'\n':
      return "\\n";
    case U'\r':
      return "\\r";
    case U'\t':
      return "\\t";
    default:
      return fmt::format("\\u{:04x}", static_cast<unsigned>(*character.point));
  }
}

// Appends the first characters of `text`, `limit` at most, those that `escapes` names escaped.
// Returns the rest.
template <class Escapes>
std::string_view append_escaped(std::string& out, std::string_view text, std::size_t limit,
                                Escapes escapes) {
  for (std::size_t count = 0; !text.empty() && count < limit; ++count) {
    const Character character = first_of(text);
    const std::string_view bytes = text.substr(0, character.size);
    if (escapes(character)) {
      out += escape_of(character, bytes);
    } else {
      out += bytes;
    }
    text.remove_prefix(character.size);
  }
  return text;
}

template <class Escapes>
std::string escaped(std::string_view text, Escapes escapes) {
  std::string out;
  append_escaped(out, text, text.size(), escapes);
  return out;
}

bool echo_escapes(const Character& character) {
  return !character.point || misleads(*character.point);
}

// By the first byte of each: exact for UTF-8, near enough for anything else, and fast on megabytes.
std::size_t length_of(std::string_view text) {
  const auto count = std::count_if(text.begin(), text.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xc0U) != 0x80U;
  });
  return static_cast<std::size_t>(count);
}

}  // namespace

std::string echoed(std::string_view value) {
  std::string text;
  const std::string_view rest = append_escaped(text, value, kEchoLimit, echo_escapes);
  return rest.empty() ? text
                      : fmt::format("{}{} ({} characters)", text, kEllipsis,
                                    kEchoLimit + std::max(length_of(rest), std::size_t{1}));
}

std::string printable(std::string_view text) {
  return escaped(text, [](const Character& character) {
    return echo_escapes(character) && character.point != U'\n' && character.point != U'\t';
  });
}

bool needs_escapes(std::string_view text) noexcept {
  while (!text.empty()) {
    const Character character = first_of(text);
    if (echo_escapes(character)) {
      return true;
    }
    text.remove_prefix(character.size);
  }
  return false;
}

std::string escape_json_text(std::string_view json) {
  // JSON lets no C0 character into a string, and those between the values are space.
  return escaped(json, [](const Character& character) {
    return character.point && *character.point >= 0x20 && misleads(*character.point);
  });
}

std::string shortened(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) {
    return std::string(text);
  }
  std::size_t end = limit - std::min(limit, kEllipsis.size());
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) {
    --end;
  }
  return std::string(text.substr(0, end)) + std::string(kEllipsis);
}

}  // namespace injector::base
