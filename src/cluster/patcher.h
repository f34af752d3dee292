// What a control loop needs of an API server beyond lists and watches: PATCH. The fast tests script
// a Patcher of their own.

#pragma once

#include <stop_token>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "kube/resource.h"
#include "kube/rest_client.h"

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

/// May be called from any thread.
class RestPatcher final : public Patcher {
 public:
  /// `client` is not owned and outlives this. `options` go with every PATCH, which is a strategic
  /// merge patch where patch::patch_style() says so, else a merge patch.
  RestPatcher(kube::RestClient& client, kube::Resource resource, kube::WriteOptions options);

  [[nodiscard]] base::Result<base::Json> patch(const std::string& name_space,
                                               const std::string& name, const base::Json& patch,
                                               const std::stop_token& stop) override;

 private:
  kube::RestClient& client_;  // Not owned.
  const kube::Resource resource_;
  const kube::WriteOptions options_;
};

}  // namespace injector::cluster
