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

namespace injector::yaml {

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
  Mark key;                        // Of the member's key; zero for list elements and the root.
  Mark value;                      // For a block collection: its first key or dash.
  std::size_t key_offset = 0;      // Bytes from the start of the text.
  std::size_t key_end = 0;         // Behind the key.
  std::size_t value_offset = 0;    // An absent value (`a:`) stands just after its colon.
  std::size_t content_offset = 0;  // Behind the value's anchor and tag.
  std::size_t end_offset = 0;      // Behind the value; behind the last line of a block scalar.
  bool flow = false;               // A collection written as [..] or {..}.
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

/// What a last line without a newline means. It matters to a block scalar that ends there. kubectl
/// adds a newline to every line of a file; go-yaml alone, which reads the text in a ConfigMap, does
/// not.
enum class LastLine { AsWritten, Ended };

/// Reads one document, the first where there are several; text without any is null. Lines are
/// counted from `first_line`, for text that was cut out of a stream.
[[nodiscard]] base::Result<YamlDocument> read_yaml(std::string_view text,
                                                   std::size_t first_line = 1,
                                                   LastLine last = LastLine::AsWritten);
[[nodiscard]] base::Result<YamlSource> read_yaml_with_marks(std::string_view text,
                                                            std::size_t first_line = 1,
                                                            LastLine last = LastLine::AsWritten);

/// Block style as kubectl prints it: two spaces a level, dashes in the column of their parent,
/// text of several lines as `|`. Reads back as the same value, here and in Kubernetes; a byte that
/// is not UTF-8 becomes U+FFFD. Each line is indented by `indent` spaces; ends with a newline.
[[nodiscard]] std::string write_yaml(const base::Json& value, std::size_t indent = 0);

/// A scalar or an empty collection on one line, without a newline: as the value of a block member,
/// and between brackets, where fewer texts may go without quotes.
[[nodiscard]] std::string write_yaml_inline(const base::Json& value);
[[nodiscard]] std::string write_flow_scalar(const base::Json& value);

}  // namespace injector::yaml
