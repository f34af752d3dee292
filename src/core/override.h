// What a Pod changes of its sidecars, in one of two ways:
//
//   a container with the sidecar's name and `image: auto`, whose fields are laid over the
//   template's container, and which gives way to it;
//   the annotation initializer.kubernetes.io/overrides: a strategic merge patch for the template's
//   containers, `{containers: [{name: envoy, resources: {...}}]}` or the list alone.
//
// Only fields that the template lists under `overrides` may be set. Pure; any thread.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "core/pod_facts.h"
#include "core/policy.h"
#include "core/template.h"

namespace injector::core {

/// Longer annotations are refused.
inline constexpr std::size_t kMaxOverrides = std::size_t{16} << 10U;

/// A Pod's wishes for the container of one name.
struct ContainerOverride {
  std::string name;
  base::Json patch;   // Strategic merge, for the container; without name.
  std::string where;  // "container envoy", "annotation initializer.kubernetes.io/overrides".
};

/// All of the Pod's, in the order in which they are applied: the annotation comes last. An Error
/// says what cannot be read. Empty for almost every Pod, and then nothing is allocated.
[[nodiscard]] base::Result<std::vector<ContainerOverride>> overrides_of(const PodFacts& pod,
                                                                        const Policy& policy);

/// The fields that `patch` sets which `allowed` does not cover, and those it does: dotted paths.
struct OverrideFields {
  std::vector<std::string> allowed;
  std::vector<std::string> refused;
};

[[nodiscard]] OverrideFields fields_of(const base::Json& patch,
                                       const std::vector<std::string>& allowed);

/// `container` with the patch on top.
[[nodiscard]] base::Result<base::Json> overridden(const base::Json& container,
                                                  const base::Json& patch);

}  // namespace injector::core
