// "deployment/web" on a command line: which object of a cluster that is.

#pragma once

#include <stop_token>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "kube/resource.h"
#include "kube/rest_client.h"

namespace injector::cli {

/// "deployment", "deploy", "rollouts.argoproj.io"; the last asks the server.
[[nodiscard]] base::Result<kube::Resource> find_kind(kube::RestClient& client,
                                                     const std::string& kind,
                                                     const std::stop_token& stop);

/// KIND/NAME with kubectl's names of kinds (deployment, deployments, deploy), or
/// RESOURCE.GROUP/NAME for others (rollouts.argoproj.io/web), which asks the server.
[[nodiscard]] base::Result<kube::Target> find_live_target(kube::RestClient& client,
                                                          const std::string& text,
                                                          const std::string& name_space,
                                                          const std::stop_token& stop);

/// The object, with the apiVersion and kind of its resource.
[[nodiscard]] base::Result<base::Json> get_live(kube::RestClient& client,
                                                const kube::Target& target,
                                                const std::stop_token& stop);

}  // namespace injector::cli
