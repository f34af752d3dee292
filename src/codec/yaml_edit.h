// Changes a YAML document by editing its text, so that what did not change keeps its bytes:
// comments, blank lines, quotes, key order, line ends. Pure; any thread.

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "codec/yaml.h"

namespace injector::codec {

/// The text of the document `text` (which `source` was read from) once it means `after`. Members
/// and elements can be added behind their siblings and removed; an added one is written as
/// write_yaml writes it. Undoing such an edit gives the old text back, byte for byte.
///
/// Nothing where the text's style does not allow it (a flow collection or an alias at the place, a
/// changed scalar): the result is read again before it is returned, so it always means `after`.
[[nodiscard]] std::optional<std::string> edit_yaml(std::string_view text, const YamlSource& source,
                                                   const base::Json& after);

}  // namespace injector::codec
