#include "cli/explain_objects.h"

#include <utility>

#include <fmt/format.h>

#include "cli/explain_live.h"
#include "cli/live_target.h"
#include "cli/objects.h"
#include "cli/progress.h"
#include "cli/webhook_registration.h"

namespace injector::cli {
namespace {

LiveObject with_namespace(kube::RestClient& client, base::Json object) {
  LiveObject live{std::move(object), {}, {}};
  const std::string name(base::text_of(base::find(live.object, "metadata", "namespace")));
  auto name_space = client.get({kube::kNamespaces, "", name, ""}, {});
  if (name_space) {
    live.name_space = std::move(name_space).value();
  } else {
    live.name_space_note =
        fmt::format("what the Namespace says is not known: {}", name_space.error().message);
  }
  return live;
}

struct Read {
  std::vector<LiveObject> objects;
  std::vector<std::string> failures;
};

Read read_named(kube::RestClient& client, const std::vector<std::string>& names) {
  Read read;
  for (const std::string& name : names) {
    const auto target = find_live_target(client, name, client.default_namespace(), {});
    auto object =
        target ? get_live(client, target.value(), {}) : base::Result<base::Json>(target.error());
    if (object) {
      read.objects.push_back(with_namespace(client, std::move(object).value()));
    } else {
      read.failures.push_back(fmt::format("{}: {}", name, object.error().message));
    }
  }
  return read;
}

Read read_selected(kube::RestClient& client, const std::string& selector) {
  Read read;
  const auto take = [&](base::Json pod) {
    read.objects.push_back(with_namespace(client, std::move(pod)));
    return true;
  };
  const auto done = client.for_each({kube::kPods, client.default_namespace(), "", ""},
                                    {{"labelSelector", selector}}, take, {});
  if (!done) {
    read.failures.push_back(done.error().message);
  }
  return read;
}

base::Result<void> sort_reports(const std::string& path, std::vector<LiveReport>& reports) {
  std::vector<base::Json> values;
  for (const LiveReport& report : reports) {
    base::Json value = decision_json(report.decision);
    value["object"] = report.title;
    value["namespace"] = report.name_space;
    value["state"] = to_string(report.state);
    values.push_back(std::move(value));
  }
  INJ_ASSIGN(const auto order, sorted_order(path, values));
  std::vector<LiveReport> sorted;
  for (const std::size_t index : order) {
    sorted.push_back(std::move(reports[index]));
  }
  reports = std::move(sorted);
  return {};
}

}  // namespace

int run_explain_objects(const ExplainObjectsOptions& options, FoundTemplate found,
                        kube::RestClient& client, tls::SystemTime now, const Streams& streams) {
  const std::string source = found.describe();
  const DecisionContext context{std::move(found.templates), options.policy, {}};
  const Registration registration =
      find_registration(client, options.webhook_configuration, now, {});
  Progress progress(streams.err, streams.live_progress, "asking the cluster");
  Read read = options.selector.empty() ? read_named(client, options.objects)
                                       : read_selected(client, options.selector);
  progress.clear();
  std::vector<LiveReport> reports;
  for (const LiveObject& live : read.objects) {
    auto report = explain_live(live, registration, context);
    if (report) {
      reports.push_back(std::move(report).value());
    } else {
      read.failures.push_back(
          fmt::format("{}: {}", object_title(live.object), report.error().message));
    }
  }
  if (auto sorted = sort_reports(options.view.sort_by, reports); !sorted) {
    streams.err << "error: " << sorted.error().message << "\n";
    return kUsage;
  }
  write_live_reports(reports, read.failures, source, options.view, streams.out);
  for (const std::string& failure : read.failures) {
    streams.err << "error: " << failure << "\n";
  }
  return read.failures.empty() ? kDone : kFailed;
}

}  // namespace injector::cli
