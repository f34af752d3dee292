#include "core/workload.h"

#include <array>
#include <utility>

namespace injector::core {
namespace {

struct Row {
  std::string_view kind;
  PodPath path;
};

constexpr PodPath kItself{"", ""};
constexpr PodPath kTemplate{"/spec/template", "spec.template"};
constexpr PodPath kJobTemplate{"/spec/jobTemplate/spec/template", "spec.jobTemplate.spec.template"};

constexpr std::array<Row, 8> kKinds = {{
    {"Pod", kItself},
    {"Deployment", kTemplate},
    {"StatefulSet", kTemplate},
    {"DaemonSet", kTemplate},
    {"ReplicaSet", kTemplate},
    {"ReplicationController", kTemplate},
    {"Job", kTemplate},
    {"CronJob", kJobTemplate},
}};

}  // namespace

std::optional<PodPath> pod_path(std::string_view kind) noexcept {
  for (const Row& row : kKinds) {
    if (row.kind == kind) {
      return row.path;
    }
  }
  return std::nullopt;
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
