#include "core/workload.h"

#include <array>
#include <utility>

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

bool is_of_group(std::string_view api_version, std::string_view group) noexcept {
  if (api_version.empty()) {
    return true;
  }
  const std::size_t slash = api_version.find('/');
  const std::string_view named =
      slash == std::string_view::npos ? std::string_view() : api_version.substr(0, slash);
  return named == group || (named == kOldGroup && group == "apps");
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
  return pod_path(base::text_of(base::find(object, "apiVersion")),
                  base::text_of(base::find(object, "kind")));
}

bool runs_to_completion(std::string_view api_version, std::string_view kind) noexcept {
  return (kind == "Job" || kind == "CronJob") && is_of_group(api_version, "batch");
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
