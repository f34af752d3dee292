// Changes a YAML or JSON document by editing its text, so that what did not change keeps its bytes:
// comments, blank lines, quotes, key order, indentation, line ends. Pure; any thread.

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "yaml/yaml.h"

namespace injector::yaml {

/// The text of the document `text` (which `source` was read from) once it means `after`. Members
/// and elements can be added behind their siblings and removed, in blocks and in brackets; scalars
/// can change. Undoing what was added gives the old text back, byte for byte. An empty `[]` that
/// gets lines of its own is written as `key:`; what cannot be told from the value alone is kept in
/// a comment, `key: # was null`.
///
/// Nothing where the text does not allow it (an anchor or a merge key whose other places would
/// change): the result is read again before it is returned, so it always means `after`.
[[nodiscard]] std::optional<std::string> edit_yaml(std::string_view text, const YamlSource& source,
                                                   const base::Json& after);

/// The same for JSON; `source` is from read_json_with_marks.
[[nodiscard]] std::optional<std::string> edit_json(std::string_view text, const YamlSource& source,
                                                   const base::Json& after);

}  // namespace injector::yaml
