// What repair asks of an API server. The fast tests script a PodEvictor of their own.

#pragma once

#include <stop_token>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "kube/rest_client.h"
#include "runtime/event_sink.h"

namespace injector::cluster {

/// May be called from any thread.
class PodEvictor {
 public:
  virtual ~PodEvictor() = default;

  /// The Pod itself: what repair works on may be trimmed.
  [[nodiscard]] virtual base::Result<base::Json> get(const std::string& name_space,
                                                     const std::string& name,
                                                     const std::stop_token& stop) = 0;
  /// A server-side dry run: what `pod` would be after admission.
  [[nodiscard]] virtual base::Result<base::Json> dry_run_create(const base::Json& pod,
                                                                const std::stop_token& stop) = 0;
  /// TooManyRequests: a disruption budget forbids it for now.
  [[nodiscard]] virtual base::Result<void> evict(const runtime::ObjectReference& pod,
                                                 const std::stop_token& stop) = 0;
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
