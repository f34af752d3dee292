// YAML text in and out, as Kubernetes reads it: YAML 1.1 scalars typed the way go-yaml types them
// (`0644` is 420, a bare `yes` is true), keys turned to strings, values that are always JSON.
//
// Reading is safe on hostile text: nesting beyond base::kMaxJsonDepth, aliases that expand beyond a
// budget ("billion laughs"), invalid UTF-8, tabs for indentation, `.nan` and null keys are errors
// that name line and column. A duplicate key keeps its first place and its last value, and gives a
// warning.
//
// All functions are pure and may be called from any thread.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace injector::codec {

/// A place in the text, counted from 1; zero where there is none.
struct Mark {
  std::size_t line = 0;
  std::size_t column = 0;
};

/// Something that Kubernetes accepts and the author hardly meant.
struct YamlWarning {
  Mark where;
  std::string message;  // `duplicate key "a" (first on line 3): the last one wins`
};

struct YamlDocument {
  base::Json value;
  std::vector<YamlWarning> warnings;  // In the order of the text.
  bool uses_aliases = false;          // An alias or a merge key stands somewhere.
};

/// Where a value stands in the text. What an alias or a merge key brings in has no nodes of its
/// own: the alias is the last one on the way.
struct YamlNode {
  Mark key;                      // Of the member's key; zero for list elements and the root.
  Mark value;                    // For a block collection: its first key or dash.
  std::size_t key_offset = 0;    // Bytes from the start of the text.
  std::size_t value_offset = 0;  // An absent value (`a:`) stands just after its colon.
  bool flow = false;             // A collection written as [..] or {..}.
  bool aliased = false;  // An anchor, an alias or a merge key stands here or somewhere below.
};

/// A document together with the place of each of its values.
struct YamlSource {
  base::Json value;
  std::vector<YamlWarning> warnings;
  bool uses_aliases = false;
  std::unordered_map<std::string, YamlNode> nodes;  // By JSON pointer; the root is "".

  /// The node at a JSON pointer such as "/containers/0/image"; nullptr where there is none.
  [[nodiscard]] const YamlNode* node(const std::string& pointer) const;
};

/// Reads one document, the first where there are several; text without any is null. Lines are
/// counted from `first_line`, for text that was cut out of a stream.
[[nodiscard]] base::Result<YamlDocument> read_yaml(std::string_view text,
                                                   std::size_t first_line = 1);
[[nodiscard]] base::Result<YamlSource> read_yaml_with_marks(std::string_view text,
                                                            std::size_t first_line = 1);

/// Block style as kubectl prints it: two spaces a level, dashes in the column of their parent,
/// text of several lines as `|`. Reads back as the same value, here and in Kubernetes; a byte that
/// is not UTF-8 becomes U+FFFD. Each line is indented by `indent` spaces; ends with a newline.
[[nodiscard]] std::string write_yaml(const base::Json& value, std::size_t indent = 0);

}  // namespace injector::codec
