// The text of a document that changed: edited where the text allows it, otherwise written anew.
// Pure; any thread.

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "cli/documents.h"

namespace injector::cli {

/// What a document becomes. Where something is replaced, `through` is the document without it: the
/// text is edited in these two steps, each of which it allows where the whole may not be possible.
struct NewValue {
  base::Json after;
  std::optional<base::Json> through;
};

/// Nothing where the text does not allow the edit.
[[nodiscard]] std::optional<std::string> edited_text(const Document& document,
                                                     const NewValue& value);

/// As JSON, edited if the document was JSON; written anew, it stays on one line if it was on one.
[[nodiscard]] std::string json_text(const Document& document, const NewValue& value);

/// As YAML, written anew below the comments and directives that stand before the document's value.
[[nodiscard]] std::string reformatted_yaml(const Document& document, const base::Json& after);

/// True if reformatting could lose a comment; a "#" inside of a text counts as one.
[[nodiscard]] bool may_have_comments(const Document& document);

}  // namespace injector::cli
