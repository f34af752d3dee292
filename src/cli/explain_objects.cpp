#include "cli/explain_objects.h"

#include <utility>

#include <fmt/format.h>

#include "cli/explain_live.h"
#include "cli/live_target.h"
#include "cli/webhook_registration.h"

namespace injector::cli {
namespace {

base::Result<LiveObject> read_live(kube::RestClient& client, const std::string& text) {
  INJ_ASSIGN(const auto target, find_live_target(client, text, client.default_namespace(), {}));
  INJ_ASSIGN(auto object, get_live(client, target, {}));
  LiveObject live{std::move(object), {}, {}};
  auto name_space = client.get({kube::kNamespaces, "", target.name_space, ""}, {});
  if (name_space) {
    live.name_space = std::move(name_space).value();
  } else {
    live.name_space_note =
        fmt::format("what the Namespace says is not known: {}", name_space.error().message);
  }
  return live;
}

}  // namespace

int run_explain_objects(const ExplainObjectsOptions& options, FoundTemplate found,
                        kube::RestClient& client, tls::SystemTime now, const Streams& streams) {
  const std::string source = found.describe();
  const DecisionContext context{std::move(found.tpl), options.policy, {}};
  const Registration registration =
      find_registration(client, options.webhook_configuration, now, {});
  std::vector<LiveReport> reports;
  std::vector<std::string> failures;
  for (const std::string& text : options.objects) {
    const auto live = read_live(client, text);
    auto report = live ? explain_live(live.value(), registration, context)
                       : base::Result<LiveReport>(live.error());
    if (report) {
      reports.push_back(std::move(report).value());
    } else {
      failures.push_back(fmt::format("{}: {}", text, report.error().message));
    }
  }
  write_live_reports(reports, failures, source, options.format, streams.out);
  for (const std::string& failure : failures) {
    streams.err << "error: " << failure << "\n";
  }
  return failures.empty() ? kDone : kFailed;
}

}  // namespace injector::cli
