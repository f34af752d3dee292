#include "cli/lint_command.h"

#include <fmt/format.h>

#include "base/printable.h"
#include "cli/inputs.h"

namespace injector::cli {
namespace {

bool lint_file(const std::string& file, const templates::TemplateOptions& options,
               const Streams& streams) {
  const auto text = read_input(file, streams.in);
  if (!text) {
    streams.err << "error: " << base::printable(text.error().message) << "\n";
    return false;
  }
  const templates::TemplateReport report = templates::check_template_file(text.value(), options);
  for (const templates::TemplateProblem& warning : report.warnings) {
    streams.err << base::printable(warning.text(file + ": warning")) << "\n";
  }
  for (const templates::TemplateProblem& problem : report.problems) {
    streams.out << base::printable(problem.text(file)) << "\n";
  }
  if (!report.value) {
    streams.err << fmt::format("{}: {} problem{}\n", file, report.problems.size(),
                               report.problems.size() == 1 ? "" : "s");
    return false;
  }
  streams.err << fmt::format("{}: ok ({} containers, {} init containers, {} volumes, {})\n", file,
                             report.value->containers.size(), report.value->init_containers.size(),
                             report.value->volumes.size(), report.value->hash);
  return true;
}

}  // namespace

int run_lint(const std::vector<std::string>& files, const templates::TemplateOptions& options,
             const Streams& streams) {
  bool ok = true;
  for (const std::string& file : files) {
    ok = lint_file(file, options, streams) && ok;
  }
  return ok ? kDone : kFailed;
}

}  // namespace injector::cli
