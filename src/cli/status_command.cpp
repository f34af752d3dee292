#include "cli/status_command.h"

#include <functional>
#include <map>
#include <sstream>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/failure.h"
#include "cli/progress.h"
#include "cli/status_report.h"
#include "cluster/namespace_cache.h"
#include "kube/discovery.h"
#include "kube/resource_client.h"

namespace injector::cli {
namespace {

using base::Json;
using runtime::WatchEventType;

std::string namespace_name(const Json& object) {
  return std::string(base::text_of(base::find(object, "metadata", "namespace")));
}

std::string key_of(const Json& pod) {
  return fmt::format("{}/{}", namespace_name(pod),
                     base::text_of(base::find(pod, "metadata", "name")));
}

// Reads what the report needs, and follows the Pods.
class StatusReader {
 public:
  StatusReader(kube::RestClient& client, const StatusOptions& options, const Streams& streams,
               const std::stop_token& stop)
      : client_(client),
        options_(options),
        streams_(streams),
        stop_(stop),
        pods_on_server_(client, kube::kPods,
                        {.name_space = options.name_space, .label_selector = options.selector}) {}

  [[nodiscard]] base::Result<void> read_pods(Progress& progress) {
    pods_.clear();
    runtime::ListOptions page;
    page.limit = kPage;
    do {
      INJ_ASSIGN(auto listed, pods_on_server_.list(page, stop_));
      for (Json& pod : listed.items) {
        put(std::move(pod));
        progress.count();
      }
      version_ = std::move(listed.resource_version);
      page.continue_token = std::move(listed.continue_token);
    } while (!page.continue_token.empty());
    return {};
  }

  void read_namespaces() {
    const std::string& one = options_.name_space;
    if (!one.empty()) {
      if (const auto facts = cluster::fetch_namespace(client_, one, kCommandPatience)) {
        namespaces_[one] = facts.value();
      } else {
        note("what the Namespace says is not known", facts.error());
      }
      return;
    }
    const auto take = [this](const Json& object) {
      namespaces_[std::string(base::text_of(base::find(object, "metadata", "name")))] =
          core::meta_facts(object);
      return true;
    };
    if (auto done = client_.for_each({kube::kNamespaces, "", "", ""}, {}, take, stop_); !done) {
      note("what the Namespaces say is not known", done.error());
    }
  }

  /// What is odd about how workloads ask.
  void add_workloads(const core::TemplateSet& templates, StatusReport& report) {
    std::vector<kube::Resource> kinds{kube::kDeployments, kube::kStatefulSets, kube::kDaemonSets};
    if (auto cron_jobs = kube::served_cron_jobs(client_, stop_)) {
      kinds.push_back(std::move(cron_jobs).value());
    }
    for (const kube::Resource& kind : kinds) {
      const auto take = [&](const Json& workload) {
        add_workload(workload, namespace_of(workload), templates, options_.policy, report);
        return true;
      };
      if (auto done = client_.for_each({kind, options_.name_space, "", ""}, {}, take, stop_);
          !done) {
        note("workloads were not looked at", done.error());
        return;
      }
    }
  }

  [[nodiscard]] StatusReport report_pods(const core::TemplateSet& templates) const {
    StatusReport report;
    for (const auto& [key, pod] : pods_) {
      add_pod(pod, namespace_of(pod), templates, options_.policy, report);
    }
    sort_rows(report);
    return report;
  }

  /// Calls `changed` after every change of a Pod. Ends when the stream does; Expired: the list has
  /// to be read again.
  [[nodiscard]] base::Result<void> follow(const std::function<void()>& changed) {
    INJ_ASSIGN(const auto stream, pods_on_server_.watch({.resource_version = version_}, stop_));
    while (true) {
      INJ_ASSIGN(auto event, stream->next(stop_));
      if (!event) {
        return {};
      }
      if (event->type == WatchEventType::Error) {
        return base::Error{base::ErrorCode::Expired, "the watch has expired"};
      }
      version_ = base::text_of(base::find(event->object, "metadata", "resourceVersion"));
      if (event->type == WatchEventType::Deleted) {
        pods_.erase(key_of(event->object));
      } else if (event->type != WatchEventType::Bookmark) {
        put(std::move(event->object));
      }
      changed();
    }
  }

 private:
  static constexpr std::size_t kPage = 500;

  void put(Json pod) {
    core::trim_pod(pod);
    std::string key = key_of(pod);
    pods_.insert_or_assign(std::move(key), std::move(pod));
  }

  void note(const std::string& what, const base::Error& error) const {
    streams_.err << fmt::format("note: {}: {}\n", what, error.message);
  }

  [[nodiscard]] const core::MetaFacts* namespace_of(const Json& object) const {
    const auto found = namespaces_.find(namespace_name(object));
    return found == namespaces_.end() ? nullptr : &found->second;
  }

  kube::RestClient& client_;  // Not owned, nor are the next three.
  const StatusOptions& options_;
  const Streams& streams_;
  const std::stop_token& stop_;
  kube::ResourceClient pods_on_server_;
  std::map<std::string, Json> pods_;  // By namespace and name, trimmed.
  std::string version_;               // Of the last list or event.
  std::map<std::string, core::MetaFacts> namespaces_;
};

// Prints rows as they change, until the server cannot be asked any more.
int watch(StatusReader& reader, const core::TemplateSet& templates, const StatusOptions& options,
          const Streams& streams, const std::stop_token& stop) {
  std::map<std::string, Json> printed;
  {
    std::ostringstream nothing;  // They have been printed with the table.
    write_changes(reader.report_pods(templates), options.view, printed, nothing);
  }
  const auto print = [&] {
    write_changes(reader.report_pods(templates), options.view, printed, streams.out);
  };
  while (!stop.stop_requested()) {
    if (reader.follow(print)) {
      continue;  // The server ends every watch at some time.
    }
    Progress silent(streams.err, false, "");
    if (auto read = reader.read_pods(silent); !read) {
      return stop.stop_requested() ? kDone : fail(read.error(), streams);
    }
    print();
  }
  return kDone;
}

}  // namespace

int run_status(const StatusOptions& options, kube::RestClient& client, const Streams& streams,
               const std::stop_token& stop) {
  StatusReader reader(client, options, streams, stop);
  Progress progress(streams.err, streams.live_progress, "reading Pods");
  if (auto read = reader.read_pods(progress); !read) {
    progress.clear();
    return fail(read.error(), streams);
  }
  const auto found = find_template(client, options.tpl, streams.in, stop);
  progress.clear();
  if (!found) {
    return fail(found.error(), streams);
  }
  reader.read_namespaces();
  const core::TemplateSet& templates = found.value().templates;
  StatusReport report = reader.report_pods(templates);
  reader.add_workloads(templates, report);
  report.template_source = found.value().describe();
  if (auto written = write_status(report, options.view, streams.out); !written) {
    streams.err << "error: " << written.error().message << "\n";
    return kUsage;
  }
  streams.out << std::flush;
  if (options.watch) {
    return watch(reader, templates, options, streams, stop);
  }
  return options.exit_code && report.count(core::PodState::Missing) > 0 ? kUnmet : kDone;
}

}  // namespace injector::cli
