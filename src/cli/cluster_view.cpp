#include "cli/cluster_view.h"

#include <utility>

#include "core/pod_state.h"

namespace injector::cli {

using base::Json;

base::Result<Json> LiveCluster::version() {
  return client_.call({.path = "/version"}, {});
}

base::Result<Json> LiveCluster::get(const kube::Target& target) {
  INJ_ASSIGN(const auto path, kube::path_of(target));
  if (const auto known = read_.find(path); known != read_.end()) {
    return known->second;
  }
  return read_.emplace(path, client_.get(target, {})).first->second;
}

base::Result<std::vector<Json>> LiveCluster::list(const kube::Target& target) {
  INJ_ASSIGN(const auto path, kube::path_of(target));
  if (const auto known = listed_.find(path); known != listed_.end()) {
    return known->second;
  }
  std::vector<Json> objects;
  const auto take = [&](Json object) {
    if (target.resource.kind == kube::kPods.kind) {
      core::trim_pod(object);  // A large cluster has many.
    }
    objects.push_back(std::move(object));
    return true;
  };
  const auto done = client_.for_each(target, {}, take, {});
  auto result = done ? base::Result<std::vector<Json>>(std::move(objects))
                     : base::Result<std::vector<Json>>(done.error());
  return listed_.emplace(path, std::move(result)).first->second;
}

base::Result<Json> LiveCluster::dry_run(const kube::Target& target, const Json& object) {
  return client_.create_object(target, object, {.dry_run = true}, {});
}

base::Result<Json> LiveCluster::review(const kube::Target& target, const Json& object) {
  return client_.create_object(target, object, {}, {});
}

}  // namespace injector::cli
