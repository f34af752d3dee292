// The characters, lines and markers of YAML text.
//
// All functions are pure and may be called from any thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace injector::yaml {

/// What is wrong, and at which byte of the text.
struct SyntaxProblem {
  std::size_t offset = 0;
  std::string message;
  bool refused = false;  // Behind the end of a document: go-yaml refuses it too.
};

[[nodiscard]] inline bool is_one_of(char c, std::string_view set) {
  return c != '\0' && set.find(c) != std::string_view::npos;
}

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

}  // namespace injector::yaml
