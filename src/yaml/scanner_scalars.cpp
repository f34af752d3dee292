// The part of the scanner that reads scalars: plain, quoted, and block scalars.

#include <algorithm>
#include <utility>

#include "base/ascii.h"
#include "yaml/scanner.h"

namespace injector::yaml {
namespace {

int hex_digit(char c) {
  if (base::is_digit(c)) {
    return c - '0';
  }
  const char lower = base::to_lower(c);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

void append_character(std::string& out, std::uint32_t code) {
  const auto add = [&](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    add(code);
    return;
  }
  if (code < 0x800) {
    add(0xC0U | code >> 6U);
  } else if (code < 0x10000) {
    add(0xE0U | code >> 12U);
    add(0x80U | (code >> 6U & 0x3FU));
  } else {
    add(0xF0U | code >> 18U);
    add(0x80U | (code >> 12U & 0x3FU));
    add(0x80U | (code >> 6U & 0x3FU));
  }
  add(0x80U | (code & 0x3FU));
}

// What a backslash and one letter stand for; nullptr for no such escape.
const char* simple_escape(char c) {
  switch (c) {
    case 'a':
      return "\a";
    case 'b':
      return "\b";
    case 't':
    case '\t':
      return "\t";
    case 'n':
      return "\n";
    case 'v':
      return "\v";
    case 'f':
      return "\f";
    case 'r':
      return "\r";
    case 'e':
      return "\x1B";
    case ' ':
      return " ";
    case '"':
      return "\"";
    case '\'':
      return "'";
    case '\\':
      return "\\";
    case 'N':
      return "\xC2\x85";
    case '_':
      return "\xC2\xA0";
    case 'L':
      return "\xE2\x80\xA8";
    case 'P':
      return "\xE2\x80\xA9";
    default:
      return nullptr;
  }
}

}  // namespace

Scanner::Header Scanner::read_header() {
  Header header;
  header.literal = byte() == '|';
  skip();
  for (int i = 0; i < 2; ++i) {
    if ((byte() == '+' || byte() == '-') && header.chomping == ' ') {
      header.chomping = byte();
      skip();
    } else if (base::is_digit(byte()) && header.indent == 0) {
      if (byte() == '0') {
        fail("the indentation of a block scalar is 1 to 9");
      }
      header.indent = static_cast<std::size_t>(byte() - '0');
      skip();
    }
  }
  while (is_blank()) {
    skip();
  }
  if (byte() == '#') {
    skip_to_break();
  }
  if (!at_end() && break_length() == 0) {
    fail("expected a comment or the end of the line after | or >");
  }
  return header;
}

void Scanner::fetch_block_scalar() {
  remove_key();
  key_allowed_ = true;
  Token token;
  token.kind = Token::Kind::Scalar;
  token.start = at_;
  const Header header = read_header();
  skip_break();
  token.end = at_.offset;
  std::size_t indent =
      header.indent + (indent_ > 0 && header.indent > 0 ? static_cast<std::size_t>(indent_) : 0);
  std::string first_break;
  std::string more_breaks;
  indent = read_block_breaks(indent, more_breaks);
  bool was_blank = false;
  while (at_.column == indent && !at_end()) {
    const bool blank = is_blank();
    if (!header.literal && first_break.starts_with('\n') && !was_blank && !blank) {
      first_break = more_breaks.empty() ? " " : "";
    }
    token.text += std::exchange(first_break, "") + std::exchange(more_breaks, "");
    was_blank = blank;
    const std::size_t begin = at_.offset;
    skip_to_break();
    token.text += text_.substr(begin, at_.offset - begin);
    copy_break(first_break);
    token.end = at_.offset;
    indent = read_block_breaks(indent, more_breaks);
  }
  token.text += header.chomping == '-' ? "" : first_break;
  if (header.chomping == '+') {
    token.text += more_breaks;
    token.end = at_.offset - at_.column;
  }
  tokens_.push_back(std::move(token));
}

// Reads empty lines and the indentation of the next one. Returns the scalar's indentation: the one
// given, or the deepest of these lines where it is still to be found.
std::size_t Scanner::read_block_breaks(std::size_t indent, std::string& breaks) {
  std::size_t deepest = 0;
  while (true) {
    while (byte() == ' ' && (indent == 0 || at_.column < indent)) {
      skip();
    }
    deepest = std::max(deepest, at_.column);
    if (byte() == '\t' && (indent == 0 || at_.column < indent)) {
      fail("found a tab where an indentation space is expected");
    }
    if (break_length() == 0) {
      break;
    }
    copy_break(breaks);
  }
  if (indent > 0) {
    return indent;
  }
  return std::max({deepest, static_cast<std::size_t>(indent_ + 1), std::size_t{1}});
}

void Scanner::Gap::fold_into(std::string& text) {
  if (!broken) {
    text += spaces;
  } else if (first_break.starts_with('\n')) {
    text += more_breaks.empty() ? " " : more_breaks;
  } else {
    text += first_break + more_breaks;
  }
  *this = {};
}

void Scanner::read_gap(Gap& gap, std::ptrdiff_t indent) {
  while (is_blank() || break_length() > 0) {
    if (break_length() > 0) {
      gap.spaces.clear();
      copy_break(gap.broken ? gap.more_breaks : gap.first_break);
      gap.broken = true;
    } else if (gap.broken) {
      if (byte() == '\t' && static_cast<std::ptrdiff_t>(at_.column) < indent) {
        fail("found a tab where only spaces may stand");
      }
      skip();
    } else {
      copy(gap.spaces);
    }
  }
}

void Scanner::fetch_quoted() {
  save_key();
  key_allowed_ = false;
  Token token;
  token.kind = Token::Kind::Scalar;
  token.start = at_;
  const char quote = byte();
  skip();
  while (true) {
    if (at_end() || at_any_marker()) {
      fail_at(token.start, "the quote is never closed");
    }
    Gap gap;
    read_quoted_word(quote, gap, token.text);
    if (byte() == quote) {
      break;
    }
    read_gap(gap, 0);
    gap.fold_into(token.text);
  }
  skip();
  token.end = at_.offset;
  tokens_.push_back(std::move(token));
}

// Up to white space or the closing quote.
void Scanner::read_quoted_word(char quote, Gap& gap, std::string& into) {
  while (!ends_word()) {
    if (quote == '\'' && byte() == '\'' && byte(1) == '\'') {
      skip();
      copy(into);
    } else if (byte() == quote) {
      return;
    } else if (quote == '"' && byte() == '\\') {
      if (read_escaped_break(gap)) {
        return;
      }
      read_escape(into);
    } else {
      copy(into);
    }
  }
}

bool Scanner::read_escaped_break(Gap& gap) {
  if (break_length(1) == 0) {
    return false;
  }
  skip();
  skip_break();
  gap.broken = true;
  return true;
}

void Scanner::read_escape(std::string& into) {
  const Position start = at_;
  skip();
  const char letter = byte();
  const std::size_t digits = letter == 'x' ? 2 : letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
  if (digits > 0) {
    skip();
    const std::uint32_t code = read_hex(digits);
    if ((code >= 0xD800 && code <= 0xDFFF) || code > 0x10FFFF) {
      fail_at(start, "the escape is no Unicode character");
    }
    append_character(into, code);
    return;
  }
  const char* const meaning = simple_escape(letter);
  if (letter == '0') {
    into += '\0';
  } else if (meaning != nullptr) {
    into += meaning;
  } else {
    fail_at(start, "unknown escape in double quotes");
  }
  skip();
}

std::uint32_t Scanner::read_hex(std::size_t digits) {
  std::uint32_t code = 0;
  for (; digits > 0; --digits) {
    const int digit = hex_digit(byte());
    if (digit < 0) {
      fail("expected a hexadecimal digit in the escape");
    }
    code = code * 16 + static_cast<std::uint32_t>(digit);
    skip();
  }
  return code;
}

bool Scanner::starts_plain() const {
  const char first = byte();
  if (first == '-') {
    return !is_blank(1);
  }
  if (first == '?' || first == ':') {
    return flow_ == 0 && !ends_word(1);
  }
  return !ends_word() && !is_one_of(first, ",[]{}#&*!|>'\"%@`");
}

bool Scanner::ends_plain() const {
  return (byte() == ':' && ends_word(1)) || (flow_ > 0 && is_one_of(byte(), ",?[]{}"));
}

void Scanner::fetch_plain() {
  save_key();
  key_allowed_ = false;
  Token token;
  token.kind = Token::Kind::Scalar;
  token.plain = true;
  token.start = at_;
  const std::ptrdiff_t indent = indent_ + 1;
  Gap gap;
  while (!at_any_marker() && byte() != '#' && !ends_word() && !ends_plain()) {
    gap.fold_into(token.text);
    while (!ends_word() && !ends_plain()) {
      copy(token.text);
    }
    token.end = at_.offset;
    read_gap(gap, indent);
    if (flow_ == 0 && static_cast<std::ptrdiff_t>(at_.column) < indent) {
      break;
    }
  }
  key_allowed_ = gap.broken;
  tokens_.push_back(std::move(token));
}

}  // namespace injector::yaml
