// What a command makes of one document: of its object, or of the items of its List. Pure but for
// the command itself.

#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "cli/document_text.h"
#include "cli/documents.h"
#include "cli/objects.h"

namespace injector::cli {

struct DocumentChange {
  std::optional<NewValue> value;                             // Unset: no object changed.
  std::vector<std::pair<base::Json, ObjectChange>> objects;  // As they were, and what became of it.
};

/// An Error of the command names the object and the document's line.
[[nodiscard]] base::Result<DocumentChange> change_document(const Document& document,
                                                           const ObjectCommand& command);

}  // namespace injector::cli
