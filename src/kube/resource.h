// Kinds of API objects and their addresses. Paths come out escaped: whatever a name holds, it
// cannot leave its segment.
//
// All functions are pure and may be called from any thread.

#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace injector::kube {

struct Resource {
  std::string group;  // Empty: core.
  std::string version;
  std::string plural;
  std::string kind;
  bool namespaced = true;

  /// "v1", "apps/v1".
  [[nodiscard]] std::string api_version() const;
};

inline const Resource kPods{"", "v1", "pods", "Pod"};
inline const Resource kConfigMaps{"", "v1", "configmaps", "ConfigMap"};
inline const Resource kSecrets{"", "v1", "secrets", "Secret"};
inline const Resource kEvents{"", "v1", "events", "Event"};
inline const Resource kNamespaces{"", "v1", "namespaces", "Namespace", false};
inline const Resource kReplicationControllers{"", "v1", "replicationcontrollers",
                                              "ReplicationController"};
inline const Resource kDeployments{"apps", "v1", "deployments", "Deployment"};
inline const Resource kStatefulSets{"apps", "v1", "statefulsets", "StatefulSet"};
inline const Resource kDaemonSets{"apps", "v1", "daemonsets", "DaemonSet"};
inline const Resource kReplicaSets{"apps", "v1", "replicasets", "ReplicaSet"};
inline const Resource kJobs{"batch", "v1", "jobs", "Job"};
inline const Resource kCronJobs{"batch", "v1", "cronjobs", "CronJob"};           // Since 1.21.
inline const Resource kCronJobsBeta{"batch", "v1beta1", "cronjobs", "CronJob"};  // Until 1.24.
inline const Resource kLeases{"coordination.k8s.io", "v1", "leases", "Lease"};   // Since 1.14.
inline const Resource kLeasesBeta{"coordination.k8s.io", "v1beta1", "leases",
                                  "Lease"};  // Until 1.21.
inline const Resource kPodDisruptionBudgets{"policy", "v1", "poddisruptionbudgets",
                                            "PodDisruptionBudget"};
inline const Resource kPodDisruptionBudgetsBeta{"policy", "v1beta1", "poddisruptionbudgets",
                                                "PodDisruptionBudget"};
inline const Resource kInitializerConfigurations{"admissionregistration.k8s.io", "v1alpha1",
                                                 "initializerconfigurations",
                                                 "InitializerConfiguration", false};
inline const Resource kMutatingWebhookConfigurations{"admissionregistration.k8s.io", "v1",
                                                     "mutatingwebhookconfigurations",
                                                     "MutatingWebhookConfiguration", false};

/// One object, or with an empty name the collection it is in. An empty namespace of a namespaced
/// resource means all namespaces, which only list and watch understand.
struct Target {
  Resource resource;
  std::string name_space;
  std::string name;
  std::string subresource;
};

/// "/apis/apps/v1/namespaces/default/deployments/web/scale". A segment that a URL would not keep
/// ("", ".", "..") is an error.
[[nodiscard]] base::Result<std::string> path_of(const Target& target);

/// For messages: "pods default/web".
[[nodiscard]] std::string describe(const Target& target);

/// Parameters in order, not yet escaped.
using Query = std::vector<std::pair<std::string, std::string>>;

/// "?a=b&c=d", escaped; empty for none.
[[nodiscard]] std::string query_string(const Query& query);

}  // namespace injector::kube
