// What a control loop needs of an API server beyond lists and watches. The real one is
// cluster/rest_patcher.h; the fast tests script their own.

#pragma once

#include <stop_token>
#include <string>

#include "base/json.h"
#include "base/result.h"

namespace injector::cluster {

/// Writes objects of one kind. May be called from any thread.
class Patcher {
 public:
  virtual ~Patcher() = default;

  /// Sends `patch` (strategic merge, or merge for custom resources) and returns the object as the
  /// server has it then. The patch names the resource version it was made for: Conflict means that
  /// somebody wrote since, NotFound that the object is gone, InvalidInput that the server will
  /// never take this patch.
  [[nodiscard]] virtual base::Result<base::Json> patch(const std::string& name_space,
                                                       const std::string& name,
                                                       const base::Json& patch,
                                                       const std::stop_token& stop) = 0;
};

}  // namespace injector::cluster
