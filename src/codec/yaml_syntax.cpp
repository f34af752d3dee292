#include "codec/yaml_syntax.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include <fmt/format.h>

namespace injector::codec {
namespace {

using std::string_view;

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

bool is_break(char c) {
  return c == '\n' || c == '\r';
}

bool is_space(char c) {
  return is_blank(c) || is_break(c);
}

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

bool is_marker(string_view line, string_view marker) {
  return line.starts_with(marker) && (line.size() == 3 || is_space(line[3]));
}

std::size_t line_end(string_view text, std::size_t at) {
  const std::size_t newline = text.find('\n', at);
  return newline == string_view::npos ? text.size() : newline + 1;
}

string_view first_word(string_view line) {
  return line.substr(0, std::min(line.find_first_of(" \t\r\n"), line.size()));
}

std::optional<SyntaxProblem> check_directive(string_view line, std::size_t offset) {
  const string_view name = first_word(line);
  if (name != "%YAML" && name != "%TAG") {
    return SyntaxProblem{offset, "unknown directive"};
  }
  string_view version = line.substr(name.size());
  version.remove_prefix(std::min(version.find_first_not_of(" \t"), version.size()));
  if (name == "%YAML" && first_word(version) != "1.1") {
    return SyntaxProblem{offset, "only YAML 1.1 is understood"};
  }
  return std::nullopt;
}

// What may stand before the first document: comments and directives.
struct Prolog {
  std::size_t end = 0;  // Of the prolog; a `---` that follows is still to be read.
  bool directives = false;
  std::optional<SyntaxProblem> problem;
};

Prolog read_prolog(string_view text) {
  Prolog prolog;
  while (prolog.end < text.size() && !prolog.problem) {
    const std::size_t next = line_end(text, prolog.end);
    const string_view line = text.substr(prolog.end, next - prolog.end);
    const std::size_t content = line.find_first_not_of(" \r\n");
    if (line.starts_with('%')) {
      prolog.directives = true;
      prolog.problem = check_directive(line, prolog.end);
    } else if (content != string_view::npos && line[content] != '#') {
      break;
    }
    prolog.end = next;
  }
  return prolog;
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

constexpr string_view kTagCharacters = ";/?:@&=+$,.!~*'()[]%<>";

std::size_t property_end(string_view text, std::size_t at) {
  const bool tag = text[at] == '!';
  ++at;
  while (at < text.size() &&
         (is_word(text[at]) || (tag && kTagCharacters.find(text[at]) != string_view::npos))) {
    ++at;
  }
  return at;
}

// A tab between an indicator (`- `, `? `) and the node behind it, at the end of `line`.
std::optional<SyntaxProblem> check_gap(string_view line, std::size_t offset) {
  const std::size_t last = line.find_last_not_of(" \t");
  const std::size_t tab = line.find('\t', last);
  if (tab == string_view::npos || (line[last] != '-' && line[last] != '?')) {
    return std::nullopt;
  }
  if (last > 0 && !is_blank(line[last - 1])) {
    return std::nullopt;
  }
  return SyntaxProblem{offset + tab, "found a tab where only spaces may stand"};
}

std::size_t skip_spaces(string_view text, std::size_t at) {
  while (at < text.size() && is_space(text[at])) {
    ++at;
  }
  return at;
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

FirstDocument first_document(string_view text) {
  Prolog prolog = read_prolog(text);
  if (prolog.problem) {
    return {text, std::move(prolog.problem)};
  }
  const string_view rest = text.substr(prolog.end);
  if (prolog.directives && !is_document_start(rest)) {
    return {text, SyntaxProblem{prolog.end, "directives need a --- line behind them"}};
  }
  if (is_document_end(rest)) {
    return {text, SyntaxProblem{prolog.end, "the document has an end but no beginning"}};
  }
  std::size_t at = is_document_start(rest) ? prolog.end + 3 : prolog.end;
  for (at = line_end(text, at); at < text.size(); at = line_end(text, at)) {
    const string_view line = text.substr(at);
    if (is_document_start(line) || is_document_end(line)) {
      break;
    }
    if (line.starts_with('%')) {
      return {text, SyntaxProblem{at, "a directive in the middle of a document"}};
    }
  }
  return {text.substr(0, at), std::nullopt};
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

std::optional<SyntaxProblem> check_properties(string_view text, std::size_t offset) {
  constexpr string_view kAfterAnchor = "?:,]}%@`";
  for (std::size_t at = offset; at < text.size();) {
    const char kind = text[at];
    if (kind != '&' && kind != '!' && kind != '*') {
      return std::nullopt;
    }
    const std::size_t end = property_end(text, at);
    const bool ends_well = end == text.size() || is_space(text[end]) ||
                           (kind != '!' && kAfterAnchor.find(text[end]) != string_view::npos);
    if (!ends_well) {
      return SyntaxProblem{end, kind == '!' ? "expected white space after a tag"
                                            : "expected a letter or a digit in an anchor's name"};
    }
    at = skip_spaces(text, end);
  }
  return std::nullopt;
}

std::size_t skip_properties(string_view text, std::size_t offset) {
  while (offset < text.size() && (text[offset] == '&' || text[offset] == '!')) {
    offset = skip_spaces(text, property_end(text, offset));
  }
  return offset;
}

std::optional<std::size_t> quoted_end(string_view text, std::size_t offset) {
  const char quote = text[offset];
  for (std::size_t at = offset + 1; at < text.size(); ++at) {
    const bool escape = quote == '"' && text[at] == '\\';
    const bool doubled = quote == '\'' && text.substr(at).starts_with("''");
    if (escape || doubled) {
      ++at;
    } else if (text[at] == quote) {
      return at + 1;
    }
  }
  return std::nullopt;
}

std::optional<SyntaxProblem> check_block_scalar(string_view text, std::size_t offset) {
  const std::size_t body = line_end(text, offset);
  const string_view header = text.substr(offset, body - offset);
  if (first_word(header).find_first_of("123456789") != string_view::npos) {
    return std::nullopt;
  }
  std::size_t at = body;
  while (at < text.size() && (text[at] == ' ' || is_break(text[at]))) {
    ++at;
  }
  if (at < text.size() && text[at] == '\t') {
    return SyntaxProblem{at, "found a tab where an indentation space is expected"};
  }
  return std::nullopt;
}

std::optional<SyntaxProblem> check_indentation(string_view text, std::size_t offset,
                                               bool after_plain) {
  for (std::size_t end = offset;;) {
    const std::size_t newline = text.substr(0, end).rfind('\n');
    const std::size_t begin = newline == string_view::npos ? 0 : newline + 1;
    const string_view line = text.substr(begin, end - begin);
    const std::size_t content = std::min(line.find_first_not_of(" \t\r"), line.size());
    const bool empty = content == line.size() || line[content] == '#';
    if (!empty) {
      return end == offset ? check_gap(line, begin) : std::nullopt;
    }
    const std::size_t tab = line.find('\t');
    if (tab < content && (tab == 0 || !after_plain)) {
      return SyntaxProblem{begin + tab, "found a tab where only spaces may stand"};
    }
    if (begin == 0) {
      return std::nullopt;
    }
    end = begin - 1;
  }
}

std::optional<std::size_t> find_colon(string_view text, std::size_t offset, string_view key) {
  std::size_t at = skip_properties(text, offset);
  if (at < text.size() && (text[at] == '"' || text[at] == '\'')) {
    at = quoted_end(text, at).value_or(text.size());
  } else if (at < text.size() && text[at] == '*') {
    at = property_end(text, at);
  } else if (text.substr(at).starts_with(key)) {
    at += key.size();
  } else {
    return std::nullopt;
  }
  at = skip_spaces(text, at);
  return at < text.size() && text[at] == ':' ? std::optional(at) : std::nullopt;
}

bool is_explicit_key(string_view text, std::size_t offset) {
  const std::size_t before = text.substr(0, offset).find_last_not_of(" \t\r\n");
  return before != string_view::npos && text[before] == '?';
}

}  // namespace injector::codec
