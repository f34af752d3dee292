// YAML text to tokens, by go-yaml's rules, since those decide what a manifest means to Kubernetes:
// which colon ends a key, where a tab may stand, how lines fold, which escapes there are.
//
// Not thread-safe: one caller at a time.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "yaml/syntax.h"

namespace injector::yaml {

/// A place while reading; counted from 0.
struct Position {
  std::size_t offset = 0;  // In bytes.
  std::size_t line = 0;
  std::size_t column = 0;  // In characters.
};

struct Token {
  enum class Kind : std::uint8_t {
    StreamEnd,
    Directive,
    DocumentStart,
    DocumentEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    BlockEntry,
    FlowEntry,
    Key,
    Value,
    Alias,
    Anchor,
    Tag,
    Scalar,
  };

  Kind kind = Kind::StreamEnd;
  bool plain = false;  // A scalar without quotes that is no block scalar.
  Position start;
  std::size_t end = 0;  // The byte behind it.
  std::string text;     // Of a scalar, an anchor, an alias, a directive (the line), or a
                        // tag (the suffix behind its handle).
  std::string handle;   // Of a tag: `!`, `!!`, `!name!`; empty for `!<..>`.
};

class Scanner {
 public:
  /// `text` is well-formed UTF-8 (see check_characters) and outlives the scanner.
  explicit Scanner(std::string_view text)
      : text_(text) {}

  /// The next token, which stays the next one until it is taken. Throws a SyntaxProblem.
  [[nodiscard]] const Token& peek();
  [[nodiscard]] Token take();

 private:
  // A token that turns out to be a key once its colon is found.
  struct SimpleKey {
    bool possible = false;
    bool required = false;   // It stands where only a key can: without a colon it is an error.
    std::size_t number = 0;  // Of the token, counted from the first of the text.
    Position at;
  };

  [[noreturn]] void fail(std::string message) const;
  [[noreturn]] static void fail_at(const Position& at, std::string message);

  [[nodiscard]] char byte(std::size_t ahead = 0) const;
  [[nodiscard]] std::size_t break_length(std::size_t ahead = 0) const;
  [[nodiscard]] bool is_blank(std::size_t ahead = 0) const;
  [[nodiscard]] bool ends_word(std::size_t ahead = 0) const;

  [[nodiscard]] bool at_end() const { return at_.offset >= text_.size(); }

  [[nodiscard]] bool at_marker(std::string_view marker) const;
  [[nodiscard]] bool at_any_marker() const;
  void skip();
  void skip(std::size_t count);
  void skip_break();
  void copy(std::string& into);
  void copy_break(std::string& into);
  void skip_to_break();

  [[nodiscard]] bool needs_more();
  [[nodiscard]] bool still_possible(SimpleKey& key);
  void fetch();
  void fetch_content();
  [[nodiscard]] bool fetch_indicator();
  void skip_to_token();
  void push(Token::Kind kind, std::size_t length);
  void insert(std::size_t number, Token::Kind kind, const Position& at);

  void roll_indent(const Position& at, std::size_t number, Token::Kind kind);
  void unroll_indent(std::ptrdiff_t column);

  [[nodiscard]] SimpleKey& current_key() { return keys_.back(); }

  void save_key();
  void remove_key();

  void fetch_end();
  void fetch_directive();
  void fetch_marker(Token::Kind kind);
  void open_flow(Token::Kind kind);
  void close_flow(Token::Kind kind);
  void fetch_flow_entry();
  void fetch_block_entry();
  void fetch_key();
  void fetch_value();
  void fetch_name(Token::Kind kind);
  void fetch_tag();
  void fetch_block_scalar();
  void fetch_quoted();
  void fetch_plain();
  [[nodiscard]] bool starts_plain() const;
  [[nodiscard]] bool ends_plain() const;

  void read_tag_name(Token& tag);
  [[nodiscard]] std::string read_handle();
  [[nodiscard]] std::string read_uri(std::string start);
  void read_uri_escape(std::string& into);

  struct Header {
    bool literal = false;
    char chomping = ' ';  // '+' keeps the last line breaks, '-' strips all of them.
    std::size_t indent = 0;
  };

  [[nodiscard]] Header read_header();
  [[nodiscard]] std::size_t read_block_breaks(std::size_t indent, std::string& breaks);

  // The white space between two words of a scalar that may go on over several lines.
  struct Gap {
    std::string spaces;
    std::string first_break;
    std::string more_breaks;
    bool broken = false;  // At least one line break, written or escaped.

    void fold_into(std::string& text);
  };

  void read_gap(Gap& gap, std::ptrdiff_t indent);
  void read_quoted_word(char quote, Gap& gap, std::string& into);
  [[nodiscard]] bool read_escaped_break(Gap& gap);
  void read_escape(std::string& into);
  [[nodiscard]] std::uint32_t read_hex(std::size_t digits);

  std::string_view text_;
  Position at_;
  std::deque<Token> tokens_;
  std::size_t taken_ = 0;  // Tokens handed out so far.
  bool ended_ = false;
  std::ptrdiff_t indent_ = -1;
  std::vector<std::ptrdiff_t> indents_;
  std::size_t flow_ = 0;             // Open brackets.
  std::vector<Position> brackets_;   // Where they stand.
  std::vector<SimpleKey> keys_{{}};  // One for each level of brackets.
  bool key_allowed_ = true;
};

}  // namespace injector::yaml
