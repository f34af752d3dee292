// The part of the scanner that reads anchors, aliases and tags.

#include <utility>

#include "base/ascii.h"
#include "yaml/scanner.h"

namespace injector::yaml {
namespace {

bool is_name(char c) {
  return base::is_alphanumeric(c) || c == '_' || c == '-';
}

}  // namespace

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

}  // namespace injector::yaml
