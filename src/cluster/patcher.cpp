#include "cluster/patcher.h"

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

}  // namespace injector::cluster
