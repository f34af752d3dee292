#include "cluster/rest_patcher.h"

#include <utility>

#include "patch/patch_style.h"

namespace injector::cluster {

RestPatcher::RestPatcher(kube::RestClient& client, kube::Resource resource,
                         kube::WriteOptions options)
    : client_(client),
      resource_(std::move(resource)),
      options_(std::move(options)) {}

base::Result<base::Json> RestPatcher::patch(const std::string& name_space, const std::string& name,
                                            const base::Json& patch, const std::stop_token& stop) {
  const auto style = patch::patch_style(resource_.api_version());
  const auto type =
      style == patch::PatchStyle::Strategic ? kube::PatchType::Strategic : kube::PatchType::Merge;
  return client_.patch({resource_, name_space, name, {}}, {type, patch}, options_, stop);
}

RestEvictor::RestEvictor(kube::RestClient& client, kube::EvictOptions options)
    : client_(client),
      options_(std::move(options)) {}

base::Result<base::Json> RestEvictor::get(const std::string& name_space, const std::string& name,
                                          const std::stop_token& stop) {
  return client_.get({kube::kPods, name_space, name, {}}, stop);
}

base::Result<base::Json> RestEvictor::dry_run_create(const base::Json& pod,
                                                     const std::stop_token& stop) {
  const std::string name_space(base::text_of(base::find(pod, "metadata", "namespace")));
  return client_.create_object({kube::kPods, name_space, {}, {}}, pod, {.dry_run = true}, stop);
}

base::Result<void> RestEvictor::evict(const runtime::ObjectReference& pod,
                                      const std::stop_token& stop) {
  kube::EvictOptions options = options_;
  options.uid = pod.uid;
  return client_.evict(pod.name_space, pod.name, options, stop);
}

}  // namespace injector::cluster
