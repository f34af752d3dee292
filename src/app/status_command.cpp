// status: how the Pods of a cluster stand to the template.

#include <algorithm>
#include <iostream>
#include <map>
#include <stop_token>

#include <fmt/format.h>

#include "app/cluster.h"
#include "app/command_line.h"
#include "codec/json.h"
#include "core/pod_state.h"
#include "core/status.h"
#include "runtime/real_ambience.h"

namespace injector::app {
namespace {

using base::Json;
using core::PodState;

constexpr std::chrono::seconds kPatience{60};

struct StatusFlags {
  ClusterFlags cluster;
  PolicyFlags policy;
  TemplateFlags tpl;
  std::string configmap;
  std::string name_space;
  bool all_namespaces = false;
  std::string output = "table";
};

struct Row {
  std::string name_space;
  std::string name;
  std::string owner;
  PodState state;
};

// Asks `stop` to end the waiting if the cluster does not answer in time.
class Deadline {
 public:
  explicit Deadline(std::chrono::seconds patience)
      : timer_([this, patience](const std::stop_token& token) {
          runtime::SteadySleeper sleeper;
          if (sleeper.sleep(patience, token)) {
            source_.request_stop();
          }
        }) {}

  [[nodiscard]] std::stop_token token() const { return source_.get_token(); }

 private:
  std::stop_source source_;
  std::jthread timer_;
};

std::vector<Row> rows_of(const runtime::Store& pods, NamespaceCache& namespaces,
                         const core::Template& tpl, const core::Policy& policy) {
  std::vector<Row> rows;
  for (const runtime::ObjectPtr& object : pods.list()) {
    const auto json = codec::read_json(object->json);
    const auto facts =
        json ? core::pod_facts(json.value()) : base::Result<core::PodFacts>(json.error());
    if (!facts) {
      continue;
    }
    const auto name_space = namespaces.find(object->name_space);
    rows.push_back({object->name_space, object->name, to_string(facts.value().owner),
                    core::pod_state(facts.value(), name_space.get(), tpl, policy)});
  }
  std::sort(rows.begin(), rows.end(), [](const Row& left, const Row& right) {
    return std::tie(left.name_space, left.name) < std::tie(right.name_space, right.name);
  });
  return rows;
}

void write_table(const std::vector<Row>& rows) {
  std::map<PodState, int> counts;
  std::size_t widths[] = {9, 4, 8};
  for (const Row& row : rows) {
    ++counts[row.state];
    widths[0] = std::max(widths[0], row.name_space.size());
    widths[1] = std::max(widths[1], row.name.size());
  }
  const auto line = [&](std::string_view one, std::string_view two, std::string_view three,
                        std::string_view four) {
    std::cout << fmt::format("{:<{}}  {:<{}}  {:<{}}  {}\n", one, widths[0], two, widths[1], three,
                             widths[2], four);
  };
  line("NAMESPACE", "NAME", "STATE", "OWNER");
  for (const Row& row : rows) {
    if (row.state != PodState::NotAsked) {
      line(row.name_space, row.name, to_string(row.state), row.owner);
    }
  }
  const int asked =
      counts[PodState::Injected] + counts[PodState::Outdated] + counts[PodState::Missing];
  std::cout << fmt::format("asked {}: injected {}, outdated {}, missing {} (of {} Pods)\n", asked,
                           counts[PodState::Injected], counts[PodState::Outdated],
                           counts[PodState::Missing], rows.size());
}

void write_rows_json(const std::vector<Row>& rows) {
  Json list = Json::array();
  for (const Row& row : rows) {
    list.push_back(Json({{"namespace", row.name_space},
                         {"name", row.name},
                         {"owner", row.owner},
                         {"state", to_string(row.state)}}));
  }
  std::cout << codec::write_json_pretty(list) << "\n";
}

int run_status(const StatusFlags& flags) {
  auto client = flags.cluster.connect(nullptr);
  if (!client) {
    return fail(client.error());
  }
  const auto tpl = flags.configmap.empty()
                       ? flags.tpl.load()
                       : fetch_template(*client.value(), flags.configmap, flags.tpl.options);
  if (!tpl) {
    return fail(tpl.error());
  }
  runtime::RealAmbience ambience(base::Logger(base::LogFormat::Text, base::LogLevel::Warn));
  const core::Policy policy = flags.policy.get();
  const std::string name_space =
      flags.name_space.empty() ? client.value()->default_namespace() : flags.name_space;
  NamespaceCache namespaces(*client.value(), policy.key, ambience.get());
  RunningInformer pods(*client.value(), kube::kPods,
                       {.name_space = flags.all_namespaces ? "" : name_space},
                       {.kind = "Pod", .transform = core::trim_pod}, ambience.get());
  pods.start();
  const Deadline deadline(kPatience);
  if (!pods.informer().wait_for_sync(deadline.token()) ||
      !namespaces.wait_for_sync(deadline.token())) {
    return fail({base::ErrorCode::Unavailable, "the API server did not answer in time"});
  }
  const auto rows = rows_of(pods.informer().store(), namespaces, tpl.value(), policy);
  flags.output == "json" ? write_rows_json(rows) : write_table(rows);
  return cli::kDone;
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
  flags->tpl.add_to(command);
  command.add_option("--configmap", flags->configmap, "The template's ConfigMap, as [NS/]NAME")
      ->excludes("--config");
  flags->policy.add_to(command);
  command.footer(
      "Example:\n  envoy-initializer status -A --configmap envoy-initializer/envoy-initializer");
  command.callback([flags, &chosen] { chosen.work = [flags] { return run_status(*flags); }; });
}

}  // namespace injector::app
