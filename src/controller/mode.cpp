#include "controller/mode.h"

#include <map>
#include <utility>

#include "kube/discovery.h"

namespace injector::controller {
namespace {

// Repair is for clusters that have the webhook. Who may not even look has none to rely on.
base::Result<Mode> mode_by_webhook(kube::RestClient& client, const std::string& configuration,
                                   const std::stop_token& stop) {
  const auto webhook =
      client.get({kube::kMutatingWebhookConfigurations, {}, configuration, {}}, stop);
  if (webhook) {
    return Mode::Repair;
  }
  const base::ErrorCode code = webhook.error().code;
  if (code == base::ErrorCode::NotFound || code == base::ErrorCode::Forbidden) {
    return Mode::Workloads;
  }
  return webhook.error();
}

base::Result<Mode> find_mode(kube::RestClient& client, const ModeRequest& request,
                             const std::stop_token& stop) {
  for (const Mode mode : {Mode::Initializer, Mode::Workloads, Mode::Repair}) {
    if (request.mode == to_string(mode)) {
      return mode;
    }
  }
  INJ_ASSIGN(const auto initializers, kube::serves(client, kube::kInitializerConfigurations, stop));
  return initializers ? Mode::Initializer
                      : mode_by_webhook(client, request.webhook_configuration, stop);
}

base::Result<kube::Resource> resource_named(kube::RestClient& client, const std::string& name,
                                            const std::stop_token& stop) {
  static const std::map<std::string, kube::Resource> by_name{{"deployments", kube::kDeployments},
                                                             {"statefulsets", kube::kStatefulSets},
                                                             {"daemonsets", kube::kDaemonSets},
                                                             {"jobs", kube::kJobs}};
  if (const std::size_t slash = name.find('/'); slash != std::string::npos) {
    return kube::find_resource(client, name.substr(0, slash), name.substr(slash + 1), stop);
  }
  const auto found = by_name.find(name);
  return found != by_name.end() ? found->second : kube::served_cron_jobs(client, stop);
}

base::Result<Task> workloads_task(kube::RestClient& client, const std::vector<std::string>& names,
                                  const std::stop_token& stop) {
  Task task{.mode = Mode::Workloads};
  for (const std::string& name : names) {
    INJ_ASSIGN(auto resource, resource_named(client, name, stop));
    task.resources.push_back(std::move(resource));
  }
  return task;
}

base::Result<Task> repair_task(kube::RestClient& client, const std::stop_token& stop) {
  INJ_ASSIGN(auto version, kube::eviction_version(client, stop));
  return Task{.mode = Mode::Repair, .eviction_version = std::move(version)};
}

// Initializer mode does without: see controller/initializer_reconciler.h. Repair makes sure of the
// webhook by a dry run; on a server that does not know what that is, it would make Pods.
bool needs_dry_run(Mode mode, const ModeRequest& request) {
  return (mode != Mode::Initializer && request.dry_run) || (mode == Mode::Repair && request.evicts);
}

base::Result<void> check_dry_run(kube::RestClient& client, const std::stop_token& stop) {
  INJ_ASSIGN(const auto served, kube::serves_dry_run(client, stop));
  if (!served) {
    return base::Error{
        base::ErrorCode::NotFound,
        "--dry-run and --repair missing or outdated need an API server of 1.13 or later"};
  }
  return {};
}

base::Result<Task> task_of(Mode mode, kube::RestClient& client, const ModeRequest& request,
                           const std::stop_token& stop) {
  switch (mode) {
    case Mode::Initializer:
      break;
    case Mode::Workloads:
      return workloads_task(client, request.resources, stop);
    case Mode::Repair:
      return repair_task(client, stop);
  }
  return Task{.mode = Mode::Initializer};
}

base::Result<Task> with_server_features(Task task, kube::RestClient& client,
                                        const ModeRequest& request, const std::stop_token& stop) {
  INJ_ASSIGN(const auto native, kube::serves_native_sidecars(client, stop));
  task.native_sidecars = native;
  if (request.leader_elect) {
    auto leases = kube::served_leases(client, stop);
    if (!leases) {
      return base::annotate(std::move(leases).error(), "--leader-elect");
    }
    task.leases = std::move(leases).value();
  }
  return task;
}

}  // namespace

std::string_view to_string(Mode mode) {
  switch (mode) {
    case Mode::Initializer:
      return "initializer";
    case Mode::Workloads:
      return "workloads";
    case Mode::Repair:
      return "repair";
  }
  return {};
}

base::Result<Task> find_task(kube::RestClient& client, const ModeRequest& request,
                             const std::stop_token& stop) {
  INJ_ASSIGN(const auto mode, find_mode(client, request, stop));
  if (needs_dry_run(mode, request)) {
    INJ_TRY(check_dry_run(client, stop));
  }
  auto task = task_of(mode, client, request, stop);
  return task ? with_server_features(std::move(task).value(), client, request, stop)
              : std::move(task);
}

}  // namespace injector::controller
