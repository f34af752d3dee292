// What go-yaml refuses and yaml-cpp reads without a word: control characters, a quote that is never
// closed, tabs as indentation, a key without its colon. These questions are asked of the text, at
// the places where the parser reports its nodes.
//
// All functions are pure and may be called from any thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace injector::codec {

/// What is wrong, and at which byte of the text.
struct SyntaxProblem {
  std::size_t offset = 0;
  std::string message;
};

/// The first document of a text: up to the marker that ends it or begins the next.
struct FirstDocument {
  std::string_view text;
  std::optional<SyntaxProblem> problem;  // With its directives and markers.
};

[[nodiscard]] FirstDocument first_document(std::string_view text);

/// True for a `---` or `...` at the start of `line`, with nothing or white space behind.
[[nodiscard]] bool is_document_start(std::string_view line);
[[nodiscard]] bool is_document_end(std::string_view line);

/// The code point at `at` and its length in bytes; a length of 0 for malformed UTF-8.
struct Character {
  std::uint32_t code = 0;
  std::size_t length = 0;
};

[[nodiscard]] Character decode_character(std::string_view text, std::size_t at);

/// Invalid UTF-8, and the control characters that YAML does not allow.
[[nodiscard]] std::optional<SyntaxProblem> check_characters(std::string_view text);

/// The byte behind the tags and anchors that begin at `offset`, or what is wrong with them.
[[nodiscard]] std::optional<SyntaxProblem> check_properties(std::string_view text,
                                                            std::size_t offset);
[[nodiscard]] std::size_t skip_properties(std::string_view text, std::size_t offset);

/// Behind the closing quote of the quoted scalar at `offset`; nothing if it is not closed.
[[nodiscard]] std::optional<std::size_t> quoted_end(std::string_view text, std::size_t offset);

/// A tab before the first text of the block scalar (`|`, `>`) at `offset`.
[[nodiscard]] std::optional<SyntaxProblem> check_block_scalar(std::string_view text,
                                                              std::size_t offset);

/// A tab in the white space that leads to the node of a block collection at `offset`, or to the end
/// of the text. `after_plain`: the text before is a plain scalar, whose lines may hold tabs.
[[nodiscard]] std::optional<SyntaxProblem> check_indentation(std::string_view text,
                                                             std::size_t offset, bool after_plain);

/// Where the colon of the key at `offset` stands. An error unless `?` marks the key as explicit;
/// `key` is its content.
[[nodiscard]] std::optional<std::size_t> find_colon(std::string_view text, std::size_t offset,
                                                    std::string_view key);
[[nodiscard]] bool is_explicit_key(std::string_view text, std::size_t offset);

}  // namespace injector::codec
