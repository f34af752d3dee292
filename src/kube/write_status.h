// The status of an object, kept by the controller that it belongs to.

#pragma once

#include <stop_token>

#include "base/json.h"
#include "base/result.h"
#include "kube/resource.h"
#include "kube/rest_client.h"

namespace injector::kube {

/// Merges `status` into the status subresource of `object`, which is as the API server sent it.
///   - True: written. False: the object says so already, and nothing was sent; or it is gone.
///   - Conflict: the object is not any more what was seen. Its next version is on the way.
///   - Members of the status that `status` does not name stay as they are; null takes one out.
[[nodiscard]] base::Result<bool> write_status(RestClient& client, const Resource& resource,
                                              const base::Json& object, const base::Json& status,
                                              const std::stop_token& stop);

}  // namespace injector::kube
