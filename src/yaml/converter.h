// A tree of nodes to JSON: types, keys, aliases and merge keys as go-yaml decodes them.
//
// Pure; may be called from any thread.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_pointer.h"
#include "yaml/parser.h"
#include "yaml/yaml.h"

namespace injector::yaml {

/// Where nodes of the text stand, in the order of the walk. A key that comes again makes what stood
/// under it before obsolete, so the list is thinned before it becomes YamlSource::nodes.
struct MarkRecorder {
  struct Entry {
    std::string pointer;
    YamlNode node;
    bool obsolete = false;
  };

  std::vector<Entry> entries;
  std::string pointer;  // Of the value that is being converted.

  std::size_t enter(std::string_view token) {
    const std::size_t before = pointer.size();
    base::append_token(pointer, token);
    return before;
  }
};

/// Where the tree's text begins in the text that the user knows.
struct TextOrigin {
  std::size_t line = 1;
  std::size_t byte = 0;
};

/// Value, warnings and use of aliases; the nodes go to `marks`, if there is one. Throws a
/// SyntaxProblem. Leaves marks of its own in `tree`.
[[nodiscard]] YamlSource convert(TextTree& tree, const TextOrigin& origin, MarkRecorder* marks);

}  // namespace injector::yaml
