// Where the Pod is in an object of any kind, also of one that we know only by its structure.

#pragma once

#include <optional>

#include "base/json.h"
#include "core/workload.h"

namespace injector::cli {

[[nodiscard]] inline std::optional<core::PodPath> pod_place(const base::Json& object) {
  if (const auto path = core::pod_path(object)) {
    return path;
  }
  const base::Json* containers = base::find(object, "spec", "template", "spec", "containers");
  if (containers == nullptr || !containers->is_array()) {
    return std::nullopt;
  }
  return core::PodPath{"/spec/template", "spec.template"};
}

}  // namespace injector::cli
