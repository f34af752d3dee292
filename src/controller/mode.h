// What there is to do on a cluster: as the user says, or by asking the API server what it can do.

#pragma once

#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/resource.h"
#include "kube/rest_client.h"

namespace injector::controller {

enum class Mode {
  Initializer,  // Pods that wait for us; servers 1.9 to 1.13 with the Initializers plugin.
  Workloads,    // Pod templates.
  Repair,       // Pods that missed the webhook.
};

/// As --mode names it.
[[nodiscard]] std::string_view to_string(Mode mode);

/// What the user asks for.
struct ModeRequest {
  std::string mode = "auto";             // Or a Mode's name.
  std::vector<std::string> resources{};  // For Workloads: "deployments", "argoproj.io/rollouts".
  std::string webhook_configuration{};   // Where it exists, auto means Repair.
  bool leader_elect = false;
  bool dry_run = false;
  bool evicts = false;  // In Repair.
};

/// A mode and what the server has of that.
struct Task {
  Mode mode = Mode::Workloads;
  std::vector<kube::Resource> resources{};  // For Workloads.
  std::string eviction_version{};           // For Repair.
  kube::Resource leases = kube::kLeases;    // For leader election: the version that is served.
  bool native_sidecars = true;              // Whether the server knows them.
};

/// For --mode auto: Initializer where InitializerConfigurations are served, else Repair where our
/// webhook is registered, else Workloads. NotFound: the server does not have what was asked for
/// (dry runs included, where a mode relies on them); other errors may pass. Any thread.
[[nodiscard]] base::Result<Task> find_task(kube::RestClient& client, const ModeRequest& request,
                                           const std::stop_token& stop);

}  // namespace injector::controller
