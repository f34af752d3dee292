#include "cli/check_command.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "base/json_text.h"
#include "base/printable.h"
#include "cli/progress.h"

namespace injector::cli {
namespace {

using base::Json;

constexpr std::size_t kIdWidth = 16;

struct Sign {
  std::string_view text;
  std::string_view color;
};

Sign sign_of(Mark mark) {
  switch (mark) {
    case Mark::Good:
      return {"✓", "\033[32m"};
    case Mark::Warning:
      return {"!", "\033[33m"};
    case Mark::Failed:
      return {"✗", "\033[31m"};
    case Mark::Skipped:
      break;
  }
  return {"-", "\033[2m"};
}

std::string link_to(const Check& check) {
  return fmt::format("docs/checks.md#{}", check.id);
}

void write_line(const Check& check, const Finding& finding, const Streams& streams) {
  const Sign sign = sign_of(finding.mark);
  streams.out << (streams.color ? sign.color : "") << sign.text << (streams.color ? "\033[0m" : "")
              << fmt::format(" {:<{}}  {}\n", check.id, kIdWidth, base::printable(finding.text));
  if (!finding.hint.empty()) {
    streams.out << fmt::format("{:{}}what to do: {}\n{:{}}see {}\n", "", kIdWidth + 4, finding.hint,
                               "", kIdWidth + 4, link_to(check));
  }
  streams.out << std::flush;
}

Json as_json(const Check& check, const Finding& finding) {
  Json object = Json::object();
  object["check"] = check.id;
  object["result"] = to_string(finding.mark);
  object["message"] = finding.text;
  object["hint"] = finding.hint;
  object["link"] = link_to(check);
  return object;
}

bool is_shown(const Finding& finding, CheckFormat format) {
  return format == CheckFormat::Table ||
         (format == CheckFormat::Short &&
          (finding.mark == Mark::Failed || finding.mark == Mark::Warning));
}

Finding run_with_progress(const Check& check, const CheckContext& context, const Streams& streams) {
  const Progress progress(streams.err, streams.live_progress, fmt::format("checking {}", check.id));
  return check.run(context);
}

void write_end(CheckFormat format, std::size_t count, std::size_t failed, Json results,
               const Streams& streams) {
  if (format == CheckFormat::Json) {
    Json document = Json::object();
    document["ok"] = failed == 0;
    document["checks"] = std::move(results);
    streams.out << base::write_json_pretty(document) << "\n";
  } else if (failed == 0) {
    streams.out << fmt::format("{} checks, none failed\n", count);
  } else {
    streams.out << fmt::format("{} of {} checks failed\n", failed, count);
  }
}

}  // namespace

int run_check(const std::vector<Check>& checks, const CheckContext& context, CheckFormat format,
              const Streams& streams) {
  Json results = Json::array();
  std::size_t failed = 0;
  for (const Check& check : checks) {
    const Finding finding = run_with_progress(check, context, streams);
    failed += finding.mark == Mark::Failed ? 1 : 0;
    results.push_back(as_json(check, finding));
    if (is_shown(finding, format)) {
      write_line(check, finding, streams);
    }
    if (results.size() == 1 && failed == 1) {
      break;
    }
  }
  const std::size_t count = results.size();
  write_end(format, count, failed, std::move(results), streams);
  return failed == 0 ? kDone : kFailed;
}

}  // namespace injector::cli
