// lint: is this a template that every Pod can take?

#pragma once

#include <string>
#include <vector>

#include "cli/streams.h"
#include "template/parser.h"

namespace injector::cli {

/// One line a problem on `out`, "file:line: path: what"; a summary a file on `err`. Fails if any.
[[nodiscard]] int run_lint(const std::vector<std::string>& files,
                           const templates::TemplateOptions& options, const Streams& streams);

}  // namespace injector::cli
