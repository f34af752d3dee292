#include "app/rest_patcher.h"

#include <utility>

namespace injector::app {

RestPatcher::RestPatcher(kube::RestClient& client, kube::Resource resource,
                         kube::WriteOptions options)
    : client_(client),
      resource_(std::move(resource)),
      options_(std::move(options)) {}

base::Result<base::Json> RestPatcher::patch(const std::string& name_space, const std::string& name,
                                            const base::Json& patch, const std::stop_token& stop) {
  return client_.patch({resource_, name_space, name, {}}, {kube::PatchType::Strategic, patch},
                       options_, stop);
}

}  // namespace injector::app
