// explain: what would happen to each object, which rule decided, and what looks odd.

#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/decide.h"
#include "cli/streams.h"

namespace injector::cli {

enum class ExplainFormat { Table, Json };

[[nodiscard]] int run_explain(const std::vector<std::string>& files, ExplainFormat format,
                              const DecisionContext& context, const Streams& streams);

/// The labels and annotations of the Namespace objects in `files`, for the namespace rules.
[[nodiscard]] base::Result<std::map<std::string, core::MetaFacts>> read_namespaces(
    const std::vector<std::string>& files, const Streams& streams);

}  // namespace injector::cli
