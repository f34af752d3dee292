// explain: what would happen to each object, which rule decided, and what looks odd.

#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "cli/decide.h"
#include "cli/inputs.h"
#include "cli/printing.h"
#include "cli/streams.h"

namespace injector::cli {

/// What a Namespace says, asked of a cluster.
using NamespaceLookup = std::function<base::Result<core::MetaFacts>(const std::string& name)>;

struct ExplainOptions {
  std::vector<std::string> files;
  ListView view;
  std::string template_source;  // "built-in template (sha256:...)": the first line.
  NamespaceLookup look_up;      // For Namespaces that nothing else tells of; may be empty.
  Recursion recursion = Recursion::No;
};

/// A row per object; -o name prints their names, the others a document of all. A --sort-by that is
/// not understood is bad usage. Namespaces are known from the context, from Namespace objects among
/// the files, from look_up, in this order. What cannot be read or decided is reported, does not
/// hide the others, and makes the exit code that of a failure.
[[nodiscard]] int run_explain(const ExplainOptions& options, DecisionContext context,
                              const Streams& streams);

/// The labels and annotations of the Namespace objects in `files`, for the namespace rules.
[[nodiscard]] base::Result<std::map<std::string, core::MetaFacts>> read_namespaces(
    const std::vector<std::string>& files, const Streams& streams);

/// The decision for one object; reason NotAPod where there is no Pod in it.
[[nodiscard]] base::Result<core::Decision> explain_object(const base::Json& object,
                                                          const DecisionContext& context);

/// "adds envoy (by pod annotation)"; else the decision's own sentence.
[[nodiscard]] std::string detail_of(const core::Decision& decision);

/// {"decision": ..., "reason": ..., "rule": ..., "detail": ..., "warnings": [...]}
[[nodiscard]] base::Json decision_json(const core::Decision& decision);

}  // namespace injector::cli
