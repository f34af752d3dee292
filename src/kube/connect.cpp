#include "kube/connect.h"

#include <utility>

namespace injector::kube {

base::Result<std::unique_ptr<RestClient>> connect(const ConfigOptions& options, RestOptions rest) {
  auto config = load_config(options, Environment::of_process());
  return config ? RestClient::create(config.value(), std::move(rest)) : std::move(config).error();
}

}  // namespace injector::kube
