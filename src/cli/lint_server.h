// lint --server: what an API server says to a Pod with the template, by a dry run.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/streams.h"
#include "core/template.h"
#include "core/template_probe.h"
#include "template/parser.h"

namespace injector::cli {

using TemplateTrial = std::function<core::ProbeVerdict(const core::Template& tpl)>;

/// Files as lint takes them. What the linter itself objects to is not sent: it is reported by
/// run_lint(). One line a problem on `out`, "file: path: what the server says". Fails if the server
/// refuses one, and if it does not decide: nothing was checked then.
[[nodiscard]] int run_lint_server(const std::vector<std::string>& files,
                                  const templates::TemplateOptions& options,
                                  const TemplateTrial& trial, const Streams& streams);

}  // namespace injector::cli
