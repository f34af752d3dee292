#include "yaml/scanner.h"

#include <algorithm>
#include <utility>

#include "base/json.h"

namespace injector::yaml {
namespace {

using std::string_view;

// A key is looked for this far; what is longer needs a `?`.
constexpr std::size_t kMaxKey = 1024;
// Blocks and brackets; a document that deep is refused anyway.
constexpr std::size_t kMaxDepth = 2 * base::kMaxJsonDepth;

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

bool is_one_of(char c, string_view set) {
  return c != '\0' && set.find(c) != string_view::npos;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  const char lower = static_cast<char>(c | 0x20);
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

const Token& Scanner::peek() {
  while (needs_more()) {
    fetch();
  }
  return tokens_.front();
}

Token Scanner::take() {
  static_cast<void>(peek());
  Token token = std::move(tokens_.front());
  tokens_.pop_front();
  ++taken_;
  return token;
}

void Scanner::fail(std::string message) const {
  fail_at(at_, std::move(message));
}

void Scanner::fail_at(const Position& at, std::string message) {
  throw SyntaxProblem{at.offset, std::move(message)};
}

char Scanner::byte(std::size_t ahead) const {
  const std::size_t at = at_.offset + ahead;
  return at < text_.size() ? text_[at] : '\0';
}

// Bytes of the line break; 0 where there is none. Unicode's own breaks count.
std::size_t Scanner::break_length(std::size_t ahead) const {
  const char first = byte(ahead);
  if (first == '\n') {
    return 1;
  }
  if (first == '\r') {
    return byte(ahead + 1) == '\n' ? 2 : 1;
  }
  const string_view rest = text_.substr(std::min(at_.offset + ahead, text_.size()), 3);
  if (rest.starts_with("\xC2\x85")) {
    return 2;
  }
  return rest == "\xE2\x80\xA8" || rest == "\xE2\x80\xA9" ? 3 : 0;
}

bool Scanner::is_blank(std::size_t ahead) const {
  return byte(ahead) == ' ' || byte(ahead) == '\t';
}

bool Scanner::ends_word(std::size_t ahead) const {
  return at_.offset + ahead >= text_.size() || is_blank(ahead) || break_length(ahead) > 0;
}

bool Scanner::at_marker(string_view marker) const {
  return at_.column == 0 && text_.substr(at_.offset).starts_with(marker) && ends_word(3);
}

bool Scanner::at_any_marker() const {
  return at_marker("---") || at_marker("...");
}

void Scanner::skip() {
  at_.offset += std::max<std::size_t>(decode_character(text_, at_.offset).length, 1);
  ++at_.column;
}

void Scanner::skip(std::size_t count) {
  for (; count > 0; --count) {
    skip();
  }
}

void Scanner::skip_break() {
  at_.offset += break_length();
  at_.column = 0;
  ++at_.line;
}

void Scanner::copy(std::string& into) {
  const std::size_t begin = at_.offset;
  skip();
  into += text_.substr(begin, at_.offset - begin);
}

// Every break becomes a newline, but for Unicode's line and paragraph separator.
void Scanner::copy_break(std::string& into) {
  const std::size_t length = break_length();
  if (length == 3) {
    into += text_.substr(at_.offset, length);
  } else if (length > 0) {
    into += '\n';
  } else {
    return;
  }
  skip_break();
}

void Scanner::skip_to_break() {
  while (!at_end() && break_length() == 0) {
    skip();
  }
}

// The first token is not settled while it may still become a key.
bool Scanner::needs_more() {
  if (ended_) {
    return false;
  }
  if (tokens_.empty()) {
    return true;
  }
  for (SimpleKey& key : keys_) {
    if (still_possible(key)) {
      return key.number == taken_;
    }
  }
  return false;
}

// A key ends on its line, and not too far away.
bool Scanner::still_possible(SimpleKey& key) {
  if (!key.possible) {
    return false;
  }
  if (key.at.line == at_.line && key.at.offset + kMaxKey >= at_.offset) {
    return true;
  }
  if (key.required) {
    fail_at(key.at, "expected ':' after a key");
  }
  key.possible = false;
  return false;
}

void Scanner::fetch() {
  skip_to_token();
  unroll_indent(static_cast<std::ptrdiff_t>(at_.column));
  if (at_end()) {
    fetch_end();
  } else if (at_.column == 0 && byte() == '%') {
    fetch_directive();
  } else if (at_marker("---")) {
    fetch_marker(Token::Kind::DocumentStart);
  } else if (at_marker("...")) {
    fetch_marker(Token::Kind::DocumentEnd);
  } else if (!fetch_indicator()) {
    fetch_content();
  }
}

void Scanner::skip_to_token() {
  constexpr string_view kByteOrderMark = "\xEF\xBB\xBF";
  while (true) {
    if (at_.column == 0 && text_.substr(at_.offset).starts_with(kByteOrderMark)) {
      skip();
    }
    // A tab is no indentation: where a key may stand, only spaces lead to it.
    while (byte() == ' ' || (byte() == '\t' && (flow_ > 0 || !key_allowed_))) {
      skip();
    }
    if (byte() == '#') {
      skip_to_break();
    }
    if (break_length() == 0) {
      return;
    }
    skip_break();
    key_allowed_ = key_allowed_ || flow_ == 0;
  }
}

bool Scanner::fetch_indicator() {
  switch (byte()) {
    case '[':
      return open_flow(Token::Kind::FlowSequenceStart), true;
    case '{':
      return open_flow(Token::Kind::FlowMappingStart), true;
    case ']':
      return close_flow(Token::Kind::FlowSequenceEnd), true;
    case '}':
      return close_flow(Token::Kind::FlowMappingEnd), true;
    case ',':
      return fetch_flow_entry(), true;
    default:
      break;
  }
  if (byte() == '-' && ends_word(1)) {
    return fetch_block_entry(), true;
  }
  if (byte() == '?' && (flow_ > 0 || ends_word(1))) {
    return fetch_key(), true;
  }
  if (byte() == ':' && (flow_ > 0 || ends_word(1))) {
    return fetch_value(), true;
  }
  return false;
}

void Scanner::fetch_content() {
  switch (byte()) {
    case '*':
      return fetch_name(Token::Kind::Alias);
    case '&':
      return fetch_name(Token::Kind::Anchor);
    case '!':
      return fetch_tag();
    case '"':
    case '\'':
      return fetch_quoted();
    default:
      break;
  }
  if (flow_ == 0 && (byte() == '|' || byte() == '>')) {
    return fetch_block_scalar();
  }
  if (starts_plain()) {
    return fetch_plain();
  }
  fail(byte() == '\t' ? "found a tab where only spaces may stand"
                      : "a value cannot begin with this character: put it in quotes");
}

void Scanner::push(Token::Kind kind, std::size_t length) {
  Token token;
  token.kind = kind;
  token.start = at_;
  skip(length);
  token.end = at_.offset;
  tokens_.push_back(std::move(token));
}

void Scanner::insert(std::size_t number, Token::Kind kind, const Position& at) {
  Token token;
  token.kind = kind;
  token.start = at;
  token.end = at.offset;
  tokens_.insert(tokens_.begin() + static_cast<std::ptrdiff_t>(number - taken_), std::move(token));
}

void Scanner::roll_indent(const Position& at, std::size_t number, Token::Kind kind) {
  const auto column = static_cast<std::ptrdiff_t>(at.column);
  if (flow_ > 0 || indent_ >= column) {
    return;
  }
  if (indents_.size() >= kMaxDepth) {
    fail_at(at, "nested too deep");
  }
  indents_.push_back(indent_);
  indent_ = column;
  insert(number, kind, at);
}

void Scanner::unroll_indent(std::ptrdiff_t column) {
  if (flow_ > 0) {
    return;
  }
  while (indent_ > column) {
    push(Token::Kind::BlockEnd, 0);
    indent_ = indents_.back();
    indents_.pop_back();
  }
}

void Scanner::save_key() {
  if (!key_allowed_) {
    return;
  }
  const bool required = flow_ == 0 && indent_ == static_cast<std::ptrdiff_t>(at_.column);
  remove_key();
  current_key() = {true, required, taken_ + tokens_.size(), at_};
}

void Scanner::remove_key() {
  SimpleKey& key = current_key();
  if (key.possible && key.required) {
    fail_at(key.at, "expected ':' after a key");
  }
  key.possible = false;
}

void Scanner::fetch_end() {
  if (!brackets_.empty()) {
    fail_at(brackets_.back(), "the bracket is never closed");
  }
  unroll_indent(-1);
  remove_key();
  key_allowed_ = false;
  push(Token::Kind::StreamEnd, 0);
  ended_ = true;
}

void Scanner::fetch_directive() {
  unroll_indent(-1);
  remove_key();
  key_allowed_ = false;
  push(Token::Kind::Directive, 0);
  const std::size_t begin = at_.offset;
  skip_to_break();
  tokens_.back().text = text_.substr(begin, at_.offset - begin);
  tokens_.back().end = at_.offset;
}

void Scanner::fetch_marker(Token::Kind kind) {
  unroll_indent(-1);
  remove_key();
  key_allowed_ = false;
  push(kind, 3);
}

void Scanner::open_flow(Token::Kind kind) {
  if (flow_ >= kMaxDepth) {
    fail("nested too deep");
  }
  save_key();
  brackets_.push_back(at_);
  keys_.emplace_back();
  ++flow_;
  key_allowed_ = true;
  push(kind, 1);
}

void Scanner::close_flow(Token::Kind kind) {
  remove_key();
  if (flow_ > 0) {
    brackets_.pop_back();
    keys_.pop_back();
    --flow_;
  }
  key_allowed_ = false;
  push(kind, 1);
}

void Scanner::fetch_flow_entry() {
  remove_key();
  key_allowed_ = true;
  push(Token::Kind::FlowEntry, 1);
}

void Scanner::fetch_block_entry() {
  if (flow_ == 0) {
    if (!key_allowed_) {
      fail("a list cannot begin here");
    }
    roll_indent(at_, taken_ + tokens_.size(), Token::Kind::BlockSequenceStart);
  }
  remove_key();
  key_allowed_ = true;
  push(Token::Kind::BlockEntry, 1);
}

void Scanner::fetch_key() {
  if (flow_ == 0) {
    if (!key_allowed_) {
      fail("a key cannot stand here");
    }
    roll_indent(at_, taken_ + tokens_.size(), Token::Kind::BlockMappingStart);
  }
  remove_key();
  key_allowed_ = flow_ == 0;
  push(Token::Kind::Key, 1);
}

void Scanner::fetch_value() {
  SimpleKey& key = current_key();
  if (still_possible(key)) {
    insert(key.number, Token::Kind::Key, key.at);
    roll_indent(key.at, key.number, Token::Kind::BlockMappingStart);
    key.possible = false;
    key_allowed_ = false;
  } else {
    if (flow_ == 0) {
      if (!key_allowed_) {
        fail("a value with a colon cannot stand here: put it in quotes, or on a line of its own");
      }
      roll_indent(at_, taken_ + tokens_.size(), Token::Kind::BlockMappingStart);
    }
    key_allowed_ = flow_ == 0;
  }
  push(Token::Kind::Value, 1);
}

void Scanner::fetch_name(Token::Kind kind) {
  save_key();
  key_allowed_ = false;
  Token token;
  token.kind = kind;
  token.start = at_;
  skip();
  while (is_name(byte())) {
    copy(token.text);
  }
  if (token.text.empty() || (!ends_word() && !is_one_of(byte(), "?:,]}%@`"))) {
    fail("expected a letter or a digit in an anchor's name");
  }
  token.end = at_.offset;
  tokens_.push_back(std::move(token));
}

void Scanner::fetch_tag() {
  save_key();
  key_allowed_ = false;
  Token token;
  token.kind = Token::Kind::Tag;
  token.start = at_;
  if (byte(1) == '<') {
    skip(2);
    token.text = read_uri("");
    if (byte() != '>') {
      fail("expected '>' at the end of a tag");
    }
    skip();
  } else {
    read_tag_name(token);
  }
  if (!ends_word()) {
    fail("expected white space after a tag");
  }
  if (check_characters(token.text)) {
    fail_at(token.start, "the escapes in the tag are no characters");
  }
  token.end = at_.offset;
  tokens_.push_back(std::move(token));
}

// `!name!suffix`, `!!suffix`, `!suffix`, or `!` alone.
void Scanner::read_tag_name(Token& tag) {
  const std::string handle = read_handle();
  if (handle.size() > 1 && handle.ends_with('!')) {
    tag.handle = handle;
    tag.text = read_uri("");
    if (tag.text.empty()) {
      fail("expected a name in a tag");
    }
    return;
  }
  tag.handle = "!";
  tag.text = read_uri(handle.substr(1));
}

std::string Scanner::read_handle() {
  std::string handle;
  copy(handle);
  while (is_name(byte())) {
    copy(handle);
  }
  if (byte() == '!') {
    copy(handle);
  }
  return handle;
}

std::string Scanner::read_uri(std::string start) {
  while (is_name(byte()) || is_one_of(byte(), ";/?:@&=+$,.!~*'()[]%")) {
    if (byte() == '%') {
      read_uri_escape(start);
    } else {
      copy(start);
    }
  }
  return start;
}

void Scanner::read_uri_escape(std::string& into) {
  skip();
  into += static_cast<char>(read_hex(2));
}

Scanner::Header Scanner::read_header() {
  Header header;
  header.literal = byte() == '|';
  skip();
  for (int i = 0; i < 2; ++i) {
    if ((byte() == '+' || byte() == '-') && header.chomping == ' ') {
      header.chomping = byte();
      skip();
    } else if (byte() >= '0' && byte() <= '9' && header.indent == 0) {
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
