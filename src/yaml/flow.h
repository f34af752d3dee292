// Edits inside brackets: `{..}` and `[..]` of YAML, and all of JSON. Items are added behind the
// last one and removed in the way the author has laid them out, one per line or all in a row, so
// that comments stay and removing what was added gives the old bytes back. Pure; any thread.

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "yaml/text_edit.h"

namespace injector::yaml {

/// How new text in brackets is written.
struct FlowStyle {
  bool json = false;         // Only what JSON knows: quoted keys, no comments.
  std::string colon = ": ";  // Between key and value.
  std::string unit = "  ";   // One level of indentation.
  bool expand = false;       // `{}` becomes several lines when something is put into it.
};

/// `value` on one line; on several, if `indent` says what its further lines begin with.
[[nodiscard]] std::string write_flow(const base::Json& value, const FlowStyle& style,
                                     const std::optional<std::string>& indent);

/// What is to be added: a member, or an element (whose key is empty).
struct FlowAddition {
  std::optional<std::string> key;
  const base::Json* value = nullptr;  // Not owned.
};

/// A collection in brackets and the extents of its items, in the order of the text.
class FlowCollection {
 public:
  struct Item {
    std::size_t begin = 0;
    std::size_t end = 0;
    bool removed = false;
  };

  /// `open` and `close` are the places of the brackets. All is referred to, not owned.
  FlowCollection(std::string_view text, std::size_t open, std::size_t close,
                 const std::vector<Item>& items, const FlowStyle& style)
      : text_(text),
        open_(open),
        close_(close),
        items_(items),
        style_(style) {}

  /// The edits that take the removed items out.
  [[nodiscard]] std::vector<TextEdit> removals() const;

  /// The edits that add something, where nothing is removed.
  [[nodiscard]] std::vector<TextEdit> insertions(const std::vector<FlowAddition>& added) const;

 private:
  using Edits = std::vector<TextEdit>;

  [[nodiscard]] std::string_view between(std::size_t begin, std::size_t end) const;
  [[nodiscard]] bool has_comment(std::size_t begin, std::size_t end) const;
  [[nodiscard]] std::optional<std::size_t> comma_behind(std::size_t offset) const;
  [[nodiscard]] std::size_t line_begin(std::size_t offset) const;
  [[nodiscard]] std::size_t line_content_end(std::size_t offset) const;
  [[nodiscard]] std::string indent_at(std::size_t offset) const;
  [[nodiscard]] bool own_line(const Item& item) const;
  [[nodiscard]] std::string written(const FlowAddition& addition,
                                    const std::optional<std::string>& indent) const;
  [[nodiscard]] std::string separator() const;

  [[nodiscard]] Edits insert_on_lines(const std::vector<FlowAddition>& added) const;
  [[nodiscard]] Edits insert_in_row(const std::vector<FlowAddition>& added) const;
  [[nodiscard]] Edits fill(const std::vector<FlowAddition>& added) const;
  [[nodiscard]] std::string row(const std::vector<FlowAddition>& added,
                                const std::optional<std::string>& indent) const;
  [[nodiscard]] std::string lines(const std::vector<FlowAddition>& added,
                                  const std::string& indent) const;

  [[nodiscard]] TextEdit without(const Item& item) const;
  [[nodiscard]] Edits emptied() const;

  std::string_view text_;
  std::size_t open_;
  std::size_t close_;
  const std::vector<Item>& items_;
  const FlowStyle& style_;
};

}  // namespace injector::yaml
