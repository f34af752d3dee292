// Native sidecars: init containers with `restartPolicy: Always`, known since Kubernetes 1.28. An
// older server drops the field, and what is left is an init container that never ends: the Pod
// never starts. Pure; any thread.

#pragma once

#include <string>
#include <vector>

#include "core/template.h"

namespace injector::core {

/// The names of the template's native sidecars; empty if it can run on any server.
[[nodiscard]] std::vector<std::string> native_sidecars(const Template& tpl);

[[nodiscard]] bool needs_native_sidecars(const Template& tpl);

}  // namespace injector::core
