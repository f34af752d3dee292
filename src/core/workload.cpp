#include "core/workload.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace injector::core {
namespace {

struct Row {
  std::string_view kind;
  std::string_view group;
  PodPath path;
};

constexpr PodPath kItself{"", ""};
constexpr PodPath kTemplate{"/spec/template", "spec.template"};
constexpr PodPath kJobTemplate{"/spec/jobTemplate/spec/template", "spec.jobTemplate.spec.template"};

constexpr PodPath kPodTemplate{"/template", "template"};
constexpr PodPath kJobTarget{"/spec/jobTargetRef/template", "spec.jobTargetRef.template"};

// Where kinds that we do not know have their pod template.
constexpr std::array<PodPath, 4> kUsualPlaces = {kTemplate, kPodTemplate, kJobTemplate, kJobTarget};

constexpr std::array<Row, 8> kKinds = {{
    {"Pod", "", kItself},
    {"Deployment", "apps", kTemplate},
    {"StatefulSet", "apps", kTemplate},
    {"DaemonSet", "apps", kTemplate},
    {"ReplicaSet", "apps", kTemplate},
    {"ReplicationController", "", kTemplate},
    {"Job", "batch", kTemplate},
    {"CronJob", "batch", kJobTemplate},
}};

// Where apps/v1 came from.
constexpr std::string_view kOldGroup = "extensions";

// Jobs by another name, whose Pods are meant to end as well.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kJobKinds = {{
    {"Job", "batch"},
    {"CronJob", "batch"},
    {"ScaledJob", "keda.sh"},
    {"BroadcastJob", "apps.kruise.io"},
}};

bool is_of_group(std::string_view api_version, std::string_view group) noexcept {
  if (api_version.empty()) {
    return true;
  }
  const std::size_t slash = api_version.find('/');
  const std::string_view named =
      slash == std::string_view::npos ? std::string_view() : api_version.substr(0, slash);
  return named == group || (named == kOldGroup && group == "apps");
}

// A Pod or a pod template: containers, each an object with a name or an image, are the sign.
bool is_pod(const base::Json* node) {
  const base::Json* containers =
      node == nullptr ? nullptr : base::find(*node, "spec", "containers");
  if (containers == nullptr || !containers->is_array() || containers->empty()) {
    return false;
  }
  return std::all_of(containers->begin(), containers->end(), [](const base::Json& container) {
    return base::find(container, "name") != nullptr || base::find(container, "image") != nullptr;
  });
}

// The first pod template below `node`, depth first. Documents are no deeper than kMaxJsonDepth.
OtherTemplate search(const base::Json& node, const std::string& path) {
  if (!path.empty() && is_pod(&node)) {
    return {path, &node};
  }
  for (auto it = node.begin(); node.is_structured() && it != node.end(); ++it) {
    if (!it->is_structured()) {
      continue;
    }
    const std::string step = node.is_array() ? fmt::format("[{}]", it - node.begin())
                             : path.empty()  ? it.key()
                                             : "." + it.key();
    if (OtherTemplate found = search(*it, path + step); found.pod != nullptr) {
      return found;
    }
  }
  return {};
}

}  // namespace

std::optional<PodPath> pod_path(std::string_view api_version, std::string_view kind) noexcept {
  for (const Row& row : kKinds) {
    if (row.kind == kind && is_of_group(api_version, row.group)) {
      return row.path;
    }
  }
  return std::nullopt;
}

std::optional<PodPath> pod_path(const base::Json& object) noexcept {
  const auto known = pod_path(base::text_of(base::find(object, "apiVersion")),
                              base::text_of(base::find(object, "kind")));
  if (known) {
    return known;
  }
  for (const PodPath& place : kUsualPlaces) {
    if (is_pod(pod_at(object, place))) {
      return place;
    }
  }
  return std::nullopt;
}

OtherTemplate other_template(const base::Json& object) {
  return pod_path(object) ? OtherTemplate() : search(object, "");
}

bool runs_to_completion(std::string_view api_version, std::string_view kind) noexcept {
  return std::any_of(kJobKinds.begin(), kJobKinds.end(), [&](const auto& row) {
    return row.first == kind && is_of_group(api_version, row.second);
  });
}

const base::Json* pod_at(const base::Json& object, const PodPath& path) {
  const base::Json* node = &object;
  std::string_view rest = path.pointer;
  while (node != nullptr && !rest.empty()) {
    rest.remove_prefix(1);
    const std::size_t end = rest.find('/');
    node = base::find(*node, rest.substr(0, end));
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end);
  }
  return node;
}

base::Json* pod_at(base::Json& object, const PodPath& path) {
  return const_cast<base::Json*>(pod_at(std::as_const(object), path));
}

}  // namespace injector::core
