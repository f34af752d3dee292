// Checks a template against the field table: unknown fields, types, and the rules that concern one
// field alone. Pure; any thread.

#pragma once

#include <span>

#include "base/json.h"
#include "template/core_v1_fields.h"
#include "template/findings.h"

namespace injector::templates {

/// The template with nulls read as Kubernetes reads them: a field without a value is absent, an
/// empty list element is an empty text or mapping, an empty entry of a map of texts is "". Indexes
/// of list elements stay as they are.
[[nodiscard]] base::Json without_nulls(const base::Json& value, std::span<const Field> fields);

/// `root` is a mapping without nulls.
void check_fields(const base::Json& root, std::span<const Field> fields,
                  const TemplateOptions& options, Findings& findings);

}  // namespace injector::templates
