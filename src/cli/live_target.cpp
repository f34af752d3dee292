#include "cli/live_target.h"

#include <map>
#include <utility>

#include <fmt/format.h>

#include "kube/discovery.h"

namespace injector::cli {
namespace {

using kube::Resource;

const Resource* built_in(const std::string& kind) {
  static const std::map<std::string, const Resource*> by_name{
      {"pod", &kube::kPods},
      {"pods", &kube::kPods},
      {"po", &kube::kPods},
      {"deployment", &kube::kDeployments},
      {"deployments", &kube::kDeployments},
      {"deploy", &kube::kDeployments},
      {"statefulset", &kube::kStatefulSets},
      {"statefulsets", &kube::kStatefulSets},
      {"sts", &kube::kStatefulSets},
      {"daemonset", &kube::kDaemonSets},
      {"daemonsets", &kube::kDaemonSets},
      {"ds", &kube::kDaemonSets},
      {"replicaset", &kube::kReplicaSets},
      {"replicasets", &kube::kReplicaSets},
      {"rs", &kube::kReplicaSets},
      {"replicationcontroller", &kube::kReplicationControllers},
      {"replicationcontrollers", &kube::kReplicationControllers},
      {"rc", &kube::kReplicationControllers},
      {"job", &kube::kJobs},
      {"jobs", &kube::kJobs}};
  const auto found = by_name.find(kind);
  return found == by_name.end() ? nullptr : found->second;
}

base::Error unknown_kind(const std::string& kind) {
  return base::invalid(
      fmt::format("\"{}\" is none of pod, deployment, statefulset, daemonset, replicaset, "
                  "replicationcontroller, job, cronjob; others are RESOURCE.GROUP, such as "
                  "rollouts.argoproj.io",
                  kind));
}

}  // namespace

base::Result<Resource> find_kind(kube::RestClient& client, const std::string& kind,
                                 const std::stop_token& stop) {
  if (const Resource* resource = built_in(kind)) {
    return *resource;
  }
  if (kind == "cronjob" || kind == "cronjobs" || kind == "cj") {
    return kube::served_cron_jobs(client, stop);
  }
  const std::size_t dot = kind.find('.');
  if (dot == std::string::npos || dot == 0 || dot + 1 == kind.size()) {
    return unknown_kind(kind);
  }
  const std::string plural = kind.substr(0, dot);
  const std::string group = kind.substr(dot + 1);
  auto found = kube::find_resource(client, group, plural, stop);
  const bool missing = !found && found.error().code == base::ErrorCode::NotFound;
  if (missing && !plural.ends_with('s')) {
    return kube::find_resource(client, group, plural + "s", stop);
  }
  return found;
}

base::Result<kube::Target> find_live_target(kube::RestClient& client, const std::string& text,
                                            const std::string& name_space,
                                            const std::stop_token& stop) {
  const std::size_t slash = text.find('/');
  const std::string name = slash == std::string::npos ? "" : text.substr(slash + 1);
  if (slash == 0 || name.empty() || name.find('/') != std::string::npos) {
    return base::invalid(fmt::format("\"{}\" is not KIND/NAME, such as deployment/web", text));
  }
  INJ_ASSIGN(auto resource, find_kind(client, text.substr(0, slash), stop));
  return kube::Target{std::move(resource), name_space, name, ""};
}

base::Result<base::Json> get_live(kube::RestClient& client, const kube::Target& target,
                                  const std::stop_token& stop) {
  auto object = client.get(target, stop);
  if (object) {
    object.value()["apiVersion"] = target.resource.api_version();
    object.value()["kind"] = target.resource.kind;
  }
  return object;
}

}  // namespace injector::cli
