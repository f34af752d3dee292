#include "cli/lint_server.h"

#include <fmt/format.h>

#include "cli/inputs.h"

namespace injector::cli {
namespace {

bool report(const std::string& file, const core::ProbeVerdict& verdict, const Streams& streams) {
  switch (verdict.outcome) {
    case core::ProbeOutcome::Accepted:
      streams.err << fmt::format(
          "{}: accepted by the API server{}{}\n", file,
          verdict.message.empty() ? "" : ", but in that namespace: ", verdict.message);
      return true;
    case core::ProbeOutcome::Refused:
      for (const core::ProbeProblem& problem : verdict.problems) {
        streams.out << fmt::format("{}: {}{}{}\n", file, problem.path,
                                   problem.path.empty() ? "" : ": ", problem.message);
      }
      streams.err << fmt::format("{}: refused by the API server\n", file);
      return false;
    case core::ProbeOutcome::Undecided:
      break;
  }
  streams.err << fmt::format("error: {}: not checked by the API server: {}\n", file,
                             verdict.message);
  return false;
}

}  // namespace

int run_lint_server(const std::vector<std::string>& files,
                    const templates::TemplateOptions& options, const TemplateTrial& trial,
                    const Streams& streams) {
  bool ok = true;
  for (const std::string& file : files) {
    const auto text = read_input(file, streams.in);
    if (!text) {
      ok = false;
      continue;
    }
    for (const auto& checked : templates::check_templates(text.value(), options)) {
      ok = checked.value && report(file, trial(*checked.value), streams) && ok;
    }
  }
  return ok ? kDone : kFailed;
}

}  // namespace injector::cli
