// Whether somebody may do something, as the API server's authorizer answers it.

#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/cluster_view.h"

namespace injector::cli {

struct AccessRight {
  std::string verb;
  std::string group;
  std::string resource;
  bool namespaced = false;  // In the installation's namespace; else cluster-wide.
  std::string name{};       // Of the only object; empty: any.
};

/// Those of `rights` that `user` does not have, as "update secrets/envoy-initializer-tls in
/// namespace x". An empty user is the one who asks. An Error: the server did not decide.
[[nodiscard]] base::Result<std::vector<std::string>> missing_rights(
    ClusterView& cluster, const std::vector<AccessRight>& rights, const std::string& user,
    const std::string& name_space);

}  // namespace injector::cli
