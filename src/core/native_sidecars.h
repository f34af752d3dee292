// Native sidecars: init containers with `restartPolicy: Always`, on by default since Kubernetes
// 1.29. An older server drops the field, and what is left is an init container that never ends: the
// Pod never starts. Pure; any thread.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "core/template.h"
#include "core/template_set.h"

namespace injector::core {

/// The names of the containers that cannot be but native sidecars; empty if the template can run on
/// any server.
[[nodiscard]] std::vector<std::string> native_sidecars(const Template& tpl);

[[nodiscard]] bool needs_native_sidecars(const Template& tpl);

/// Whether the template's `containers` run as native sidecars.
[[nodiscard]] bool runs_native(const Template& tpl, NativeSidecars cluster);

/// Why the template cannot run where there are no native sidecars; well if it can.
[[nodiscard]] base::Result<void> check_without_native(const Template& tpl);

/// A container as a native sidecar. The next container waits for the startup probe, not for
/// readiness: where there is none, it is made from the readiness probe.
[[nodiscard]] base::Json as_native(base::Json container);

/// Of a version such as "1.29", "v1.31.2" or "1.28+"; nothing if it is none.
[[nodiscard]] std::optional<NativeSidecars> native_sidecars_of(std::string_view kube_version);

}  // namespace injector::core
