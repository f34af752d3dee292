#include "core/pod_state.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "core/inject.h"
#include "core/opt_in.h"
#include "core/status.h"

namespace injector::core {
namespace {

using base::Json;

constexpr std::string_view kLastApplied = "kubectl.kubernetes.io/last-applied-configuration";

// The members of `object` among `keys`, in its own order.
Json only(const Json& object, std::initializer_list<std::string_view> keys) {
  Json kept = Json::object();
  if (!object.is_object()) {
    return kept;
  }
  for (const auto& [key, value] : object.items()) {
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) {
      base::append_member(kept, key, value);
    }
  }
  return kept;
}

void trim_elements(Json& object, std::string_view field,
                   std::initializer_list<std::string_view> keys) {
  Json* list = base::find(object, field);
  if (list == nullptr || !list->is_array()) {
    return;
  }
  for (Json& element : *list) {
    element = only(element, keys);
  }
}

// The image says something only where it stands for a sidecar's.
void trim_containers(Json& spec, std::string_view field) {
  Json* list = base::find(spec, field);
  if (list == nullptr || !list->is_array()) {
    return;
  }
  for (Json& container : *list) {
    const bool stands_in = base::text_of(base::find(std::as_const(container), "image")) == "auto";
    container = stands_in ? only(container, {"name", "ports", "image"})
                          : only(container, {"name", "ports"});
  }
}

Json trimmed_metadata(const Json& metadata) {
  Json kept = only(metadata, {"name", "generateName", "namespace", "uid", "resourceVersion",
                              "labels", "annotations", "ownerReferences", "deletionTimestamp"});
  trim_elements(kept, "ownerReferences", {"apiVersion", "kind", "name", "uid", "controller"});
  Json* annotations = base::find(kept, "annotations");
  if (annotations != nullptr && annotations->is_object()) {
    annotations->erase(std::string(kLastApplied));
  }
  return kept;
}

Json trimmed_spec(const Json& spec) {
  Json kept = only(spec, {"containers", "initContainers", "volumes", "hostNetwork", "os",
                          "nodeSelector", "serviceAccountName"});
  trim_containers(kept, "containers");
  trim_containers(kept, "initContainers");
  trim_elements(kept, "volumes", {"name"});
  return kept;
}

}  // namespace

std::string_view to_string(PodState state) noexcept {
  switch (state) {
    case PodState::NotAsked:
      return "not asked";
    case PodState::Injected:
      return "injected";
    case PodState::Outdated:
      return "outdated";
    case PodState::Missing:
      return "missing";
  }
  return "";
}

PodState pod_state(const PodFacts& pod, const MetaFacts* name_space, const TemplateSet& templates,
                   const Policy& policy) {
  if (const std::string* text = find(pod.annotations, policy.status_key())) {
    const auto status = read_status(Json::parse(*text, nullptr, false));
    const bool current = status && is_current(status.value(), templates, pod.name_space);
    return current ? PodState::Injected : PodState::Outdated;
  }
  if (opt_in(pod, name_space, templates, policy).answer != Answer::Yes) {
    return PodState::NotAsked;
  }
  const Decision decision = inject(pod, name_space, templates, policy);
  switch (decision.reason) {
    case Reason::AlreadyInitialized:
      return PodState::Injected;
    case Reason::Injected:
    case Reason::VolumeConflict:
    case Reason::UnknownTemplate:
    case Reason::TemplateConflict:
    case Reason::OverrideNotAllowed:
    case Reason::MissingValue:
      return PodState::Missing;
    case Reason::NotRequested:
    case Reason::OptedOut:
    case Reason::UnrecognizedValue:
    case Reason::HostNetwork:
    case Reason::WindowsPod:
    case Reason::MirrorPod:
    case Reason::NotAPod:
    case Reason::NotCreate:
      return PodState::NotAsked;
  }
  return PodState::NotAsked;
}

void trim_pod(Json& pod) {
  Json kept = only(pod, {"apiVersion", "kind"});
  if (const Json* metadata = base::find(std::as_const(pod), "metadata")) {
    kept["metadata"] = trimmed_metadata(*metadata);
  }
  if (const Json* spec = base::find(std::as_const(pod), "spec")) {
    kept["spec"] = trimmed_spec(*spec);
  }
  if (const Json* status = base::find(std::as_const(pod), "status")) {
    kept["status"] = only(*status, {"phase"});
  }
  pod = std::move(kept);
}

}  // namespace injector::core
