// What the control loops ask of an API server, on the REST client.

#pragma once

#include <stop_token>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "cluster/evictor.h"
#include "cluster/patcher.h"
#include "kube/resource.h"
#include "kube/rest_client.h"

namespace injector::cluster {

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

/// May be called from any thread.
class RestEvictor final : public PodEvictor {
 public:
  /// `client` is not owned and outlives this. `options` go with every eviction, but for the uid.
  RestEvictor(kube::RestClient& client, kube::EvictOptions options);

  [[nodiscard]] base::Result<base::Json> get(const std::string& name_space, const std::string& name,
                                             const std::stop_token& stop) override;
  [[nodiscard]] base::Result<base::Json> dry_run_create(const base::Json& pod,
                                                        const std::stop_token& stop) override;
  [[nodiscard]] base::Result<void> evict(const runtime::ObjectReference& pod,
                                         const std::stop_token& stop) override;

 private:
  kube::RestClient& client_;  // Not owned.
  const kube::EvictOptions options_;
};

}  // namespace injector::cluster
