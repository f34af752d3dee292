#include "yaml/syntax.h"

#include <array>
#include <cstdint>

#include <fmt/format.h>

namespace injector::yaml {
namespace {

using std::string_view;

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool is_marker(string_view line, string_view marker) {
  return line.starts_with(marker) && (line.size() == 3 || is_space(line[3]));
}

bool is_allowed(std::uint32_t code) {
  if (code < 0x20) {
    return code == '\t' || code == '\n' || code == '\r';
  }
  const bool control = (code >= 0x7F && code < 0xA0 && code != 0x85);
  return !control && code != 0xFFFE && code != 0xFFFF;
}

std::uint32_t byte_at(string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

// Of the UTF-8 sequence that begins with the byte `first`; 0 if none does.
std::size_t sequence_length(std::uint32_t first) {
  if (first < 0x80U) {
    return 1;
  }
  if ((first & 0xE0U) == 0xC0U) {
    return 2;
  }
  if ((first & 0xF0U) == 0xE0U) {
    return 3;
  }
  return (first & 0xF8U) == 0xF0U ? 4 : 0;
}

// No longer than it must be, no surrogate, and within Unicode.
bool is_well_formed(std::uint32_t code, std::size_t length) {
  constexpr std::array<std::uint32_t, 5> kSmallest{0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return code >= kSmallest.at(length) && !surrogate && code <= 0x10FFFF;
}

}  // namespace

Character decode_character(string_view text, std::size_t at) {
  const std::uint32_t first = byte_at(text, at);
  const std::size_t length = sequence_length(first);
  if (length == 0 || at + length > text.size()) {
    return {};
  }
  std::uint32_t code = length == 1 ? first : first & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    const std::uint32_t byte = byte_at(text, at + i);
    if ((byte & 0xC0U) != 0x80U) {
      return {};
    }
    code = code << 6U | (byte & 0x3FU);
  }
  return is_well_formed(code, length) ? Character{code, length} : Character{};
}

bool is_document_start(string_view line) {
  return is_marker(line, "---");
}

bool is_document_end(string_view line) {
  return is_marker(line, "...");
}

std::optional<SyntaxProblem> check_characters(string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const Character character = decode_character(text, at);
    if (character.length == 0) {
      return SyntaxProblem{at, "invalid UTF-8"};
    }
    if (!is_allowed(character.code)) {
      return SyntaxProblem{
          at, fmt::format("control character U+{:04X} is not allowed", character.code)};
    }
    at += character.length;
  }
  return std::nullopt;
}

}  // namespace injector::yaml
