// The lines of a text, and changes to it that leave everything else as it was. Pure; any thread.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace injector::yaml {

/// Replaces the bytes from `begin` to `end`.
struct TextEdit {
  std::size_t begin = 0;
  std::size_t end = 0;       // == begin for an insertion.
  std::string insert;        // Lines end in '\n', whatever the text's do.
  bool whole_lines = false;  // What is inserted begins on a line of its own.
};

/// `text` with all edits applied. Edits at one offset are inserted in the order given; the text's
/// own line ends are used, and a text without a newline at its end stays one.
[[nodiscard]] std::string apply_edits(std::string_view text, const std::vector<TextEdit>& edits);

/// Looks up lines by offset.
class TextLines {
 public:
  struct Line {
    std::size_t begin = 0;   // Offset of its first byte.
    std::size_t end = 0;     // Behind its newline.
    std::size_t indent = 0;  // Spaces before the first other byte.
  };

  /// `text` is referred to, not owned.
  explicit TextLines(std::string_view text);

  /// The number of the line that `offset` stands in, from 0.
  [[nodiscard]] std::size_t at(std::size_t offset) const;

  [[nodiscard]] const Line& operator[](std::size_t number) const { return lines_[number]; }

  /// The spaces and tabs that the line of `offset` begins with.
  [[nodiscard]] std::string indentation_of(std::size_t offset) const;

 private:
  std::string_view text_;
  std::vector<Line> lines_;
};

/// The old Mac's line break, which would end lines that we do not see end.
[[nodiscard]] bool has_lone_carriage_return(std::string_view text);

}  // namespace injector::yaml
