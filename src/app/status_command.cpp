// status: how the Pods of a cluster stand to the template.

#include <iostream>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "app/cluster.h"
#include "app/command_line.h"
#include "app/flag_checks.h"
#include "cli/status_report.h"
#include "kube/discovery.h"

namespace injector::app {
namespace {

using base::Json;

struct StatusFlags {
  ClusterFlags cluster;
  PolicyFlags policy;
  TemplateFlags tpl;
  std::string configmap;
  std::string name_space;
  bool all_namespaces = false;
  bool exit_code = false;
  std::string output = "table";
};

void note(const std::string& what, const base::Error& error) {
  std::cerr << fmt::format("note: {}: {}\n", what, error.message);
}

// Reads once what the report needs. Only Pods must be readable: what else may not be read is noted.
class StatusReader {
 public:
  StatusReader(kube::RestClient& client, const core::Policy& policy, std::string name_space)
      : client_(client),
        policy_(policy),
        name_space_(std::move(name_space)) {}

  [[nodiscard]] base::Result<void> read_pods() {
    return client_.for_each({kube::kPods, name_space_, "", ""}, {},
                            [this](Json pod) {
                              core::trim_pod(pod);
                              pods_.push_back(std::move(pod));
                              return true;
                            },
                            {});
  }

  void read_namespaces() {
    if (!name_space_.empty()) {
      const auto facts = cluster::fetch_namespace(client_, name_space_, kCommandPatience);
      if (facts) {
        namespaces_[name_space_] = facts.value();
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
    if (auto done = client_.for_each({kube::kNamespaces, "", "", ""}, {}, take, {}); !done) {
      note("what the Namespaces say is not known", done.error());
    }
  }

  /// The report but for its first line.
  [[nodiscard]] cli::StatusReport report(const core::Template& tpl) {
    cli::StatusReport report;
    for (const Json& pod : pods_) {
      cli::add_pod(pod, namespace_of(pod), tpl, policy_, report);
    }
    add_workloads(tpl, report);
    cli::sort_rows(report);
    return report;
  }

 private:
  [[nodiscard]] const core::MetaFacts* namespace_of(const Json& object) const {
    const auto found =
        namespaces_.find(std::string(base::text_of(base::find(object, "metadata", "namespace"))));
    return found == namespaces_.end() ? nullptr : &found->second;
  }

  void add_workloads(const core::Template& tpl, cli::StatusReport& report) {
    std::vector<kube::Resource> kinds{kube::kDeployments, kube::kStatefulSets, kube::kDaemonSets};
    if (auto cron_jobs = kube::served_cron_jobs(client_, {})) {
      kinds.push_back(std::move(cron_jobs).value());
    }
    for (const kube::Resource& kind : kinds) {
      const auto take = [&](const Json& workload) {
        cli::add_workload(workload, namespace_of(workload), tpl, policy_, report);
        return true;
      };
      if (auto done = client_.for_each({kind, name_space_, "", ""}, {}, take, {}); !done) {
        note("workloads were not looked at", done.error());
        return;
      }
    }
  }

  kube::RestClient& client_;  // Not owned.
  const core::Policy& policy_;
  const std::string name_space_;  // Empty: all.
  std::vector<Json> pods_;
  std::map<std::string, core::MetaFacts> namespaces_;
};

int run_status(const StatusFlags& flags) {
  auto client = flags.cluster.connect_for_command();
  if (!client) {
    return fail(client.error());
  }
  const core::Policy policy = flags.policy.get();
  const std::string name_space =
      flags.name_space.empty() ? client.value()->default_namespace() : flags.name_space;
  StatusReader reader(*client.value(), policy, flags.all_namespaces ? "" : name_space);
  if (auto read = reader.read_pods(); !read) {
    return fail(read.error());
  }
  const auto found =
      find_template(*client.value(), {flags.tpl.config, flags.configmap, flags.tpl.options}, {});
  if (!found) {
    return fail(found.error());
  }
  reader.read_namespaces();
  cli::StatusReport report = reader.report(found.value().tpl);
  report.template_source = found.value().describe();
  flags.output == "json" ? cli::write_status_json(report, std::cout)
                         : cli::write_status_table(report, std::cout);
  return flags.exit_code && report.count(core::PodState::Missing) > 0 ? cli::kUnmet : cli::kDone;
}

}  // namespace

void add_status_command(CLI::App& app, Chosen& chosen) {
  auto flags = std::make_shared<StatusFlags>();
  CLI::App& command =
      *app.add_subcommand("status", "List a cluster's Pods: injected, missing, outdated");
  flags->cluster.add_to(command);
  auto* one =
      command.add_option("-n,--namespace", flags->name_space, "[default: the context's namespace]");
  command.add_flag("-A,--all-namespaces", flags->all_namespaces, "All namespaces")->excludes(one);
  command.add_option("-o,--output", flags->output, "How to list them")
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
  command.add_flag("--exit-code", flags->exit_code,
                   "Exit 3 if a Pod asked for the sidecar and runs without it");
  flags->tpl.add_to(command);
  command.get_option("--config")->description(kClusterTemplateHelp);
  command
      .add_option("--configmap", flags->configmap,
                  "The template's ConfigMap, as [NS/]NAME [default: "
                  "envoy-initializer/envoy-initializer, if there is one]")
      ->check(configmap_check())
      ->excludes("--config");
  flags->policy.add_to(command);
  command.footer(
      "The first line says which template the Pods were compared with.\n"
      "\n"
      "Examples:\n"
      "  envoy-initializer status -A\n"
      "  envoy-initializer status -n shop --exit-code\n"
      "\n"
      "To read the Pods of one namespace is all that -n needs; what else may not be read is "
      "noted.");
  command.callback([flags, &chosen] { chosen.work = [flags] { return run_status(*flags); }; });
}

}  // namespace injector::app
