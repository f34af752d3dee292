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

}  // namespace injector::yaml
