// From what a command line says to a client.

#pragma once

#include <memory>

#include "base/result.h"
#include "kube/config.h"
#include "kube/rest_client.h"

namespace injector::kube {

/// A client for what load_config() finds in the environment of this process. Nothing is sent yet.
[[nodiscard]] base::Result<std::unique_ptr<RestClient>> connect(const ConfigOptions& options,
                                                                RestOptions rest);

}  // namespace injector::kube
