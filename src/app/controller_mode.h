// What there is to do on a cluster: by flag, or by asking the API server what it can do.

#pragma once

#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "app/controller_flags.h"
#include "base/result.h"
#include "kube/resource.h"
#include "kube/rest_client.h"

namespace injector::app {

enum class Mode {
  Initializer,  // Pods that wait for us; servers 1.9 to 1.13 with the Initializers plugin.
  Workloads,    // Pod templates.
  Repair,       // Pods that missed the webhook.
};

/// As --mode names it.
[[nodiscard]] std::string_view to_string(Mode mode);

/// A mode and what the server has of that.
struct Task {
  Mode mode = Mode::Workloads;
  std::vector<kube::Resource> resources{};  // For Workloads.
  std::string eviction_version{};           // For Repair.
  kube::Resource leases = kube::kLeases;    // For leader election: the version that is served.
  bool native_sidecars = true;              // Whether the server knows them.
};

/// For --mode auto: Initializer where InitializerConfigurations are served, else Repair where our
/// webhook is registered, else Workloads. NotFound: the server has not what was asked for (dry runs
/// included, where a mode relies on them); other errors may pass. Any thread.
[[nodiscard]] base::Result<Task> find_task(kube::RestClient& client, const ControllerFlags& flags,
                                           const std::stop_token& stop);

}  // namespace injector::app
