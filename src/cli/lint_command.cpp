#include "cli/lint_command.h"

#include <fmt/format.h>

#include "base/printable.h"
#include "cli/inputs.h"

namespace injector::cli {
namespace {

void write_findings(const std::string& file, const templates::TemplateReport& report,
                    const Streams& streams) {
  for (const templates::TemplateProblem& warning : report.warnings) {
    streams.err << base::printable(warning.text(file + ": warning")) << "\n";
  }
  for (const templates::TemplateProblem& problem : report.problems) {
    streams.out << base::printable(problem.text(file)) << "\n";
  }
}

bool lint_file(const std::string& file, const templates::TemplateOptions& options,
               const Streams& streams) {
  const auto text = read_input(file, streams.in);
  if (!text) {
    streams.err << "error: " << base::printable(text.error().message) << "\n";
    return false;
  }
  const auto reports = templates::check_templates(text.value(), options);
  std::size_t problems = 0;
  for (const templates::TemplateReport& report : reports) {
    write_findings(file, report, streams);
    problems += report.problems.size();
  }
  if (problems > 0) {
    streams.err << fmt::format("{}: {} problem{}\n", file, problems, problems == 1 ? "" : "s");
    return false;
  }
  for (const templates::TemplateReport& report : reports) {
    const core::Template& tpl = *report.value;
    streams.err << fmt::format("{}: {}ok ({} containers, {} init containers, {} volumes, {})\n",
                               file, reports.size() == 1 ? "" : report.name + ": ",
                               tpl.containers.size(), tpl.init_containers.size(),
                               tpl.volumes.size(), tpl.hash);
  }
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
