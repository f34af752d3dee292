// Which objects have a Pod in them, and where. Pure; any thread.

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace injector::core {

struct PodPath {
  std::string_view pointer;  // "/spec/template"; empty: the object is the Pod.
  std::string_view dotted;   // "spec.template", for people.
};

/// Nothing for objects that make no Pods. A Job of somebody else's API group is not our Job; an
/// object that does not say its apiVersion is taken by its kind.
[[nodiscard]] std::optional<PodPath> pod_path(std::string_view api_version,
                                              std::string_view kind) noexcept;

/// Objects of a kind that we do not know are taken by their structure: a Rollout, a CloneSet or a
/// Knative Service has a pod template with containers in a place that is usual for one.
[[nodiscard]] std::optional<PodPath> pod_path(const base::Json& object) noexcept;

/// Where else in an object without pod_path() a pod template stands, "spec.templates[0].template";
/// empty: nowhere. We leave such objects alone, and say so.
struct OtherTemplate {
  std::string dotted;
  const base::Json* pod = nullptr;  // Into the object.
};

[[nodiscard]] OtherTemplate other_template(const base::Json& object);

/// Whether Pods of such an object are meant to end: Jobs, and the CronJobs that make them.
[[nodiscard]] bool runs_to_completion(std::string_view api_version, std::string_view kind) noexcept;

/// The Pod or pod template at `path` in `object`; null where it is missing.
[[nodiscard]] const base::Json* pod_at(const base::Json& object, const PodPath& path);
[[nodiscard]] base::Json* pod_at(base::Json& object, const PodPath& path);

}  // namespace injector::core
