// A real kubectl for tests, from tools/get-kubectl, and what it makes of the kustomizations in
// manifests/.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "tests/support/temp_dir.h"

namespace injector::tests {

/// Where kubectl and helm are: in INJ_KUBECTL_BIN, else where `tools/get-kubectl --find-only` finds
/// them.
struct KubectlBinaries {
  std::optional<std::string> directory;
  std::string why_not;  ///< If there is no directory.
};

KubectlBinaries find_kubectl();

struct KubectlResult {
  int code = 0;
  std::string output;  ///< Of both streams.
};

/// Throws std::runtime_error where there is no kubectl. `arguments` as a user types them.
KubectlResult kubectl(const std::vector<std::string>& arguments);

/// Writes an overlay as a user would: `resources` and `components` are paths below manifests/.
/// Returns its folder, in `dir`.
std::string write_overlay(const TempDir& dir, const std::vector<std::string>& resources,
                          const std::vector<std::string>& components);

/// The objects that `kubectl kustomize` prints. Throws std::runtime_error with its words if it
/// fails.
std::vector<base::Json> rendered(const std::string& folder);

}  // namespace injector::tests
