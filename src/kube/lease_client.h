// One coordination.k8s.io Lease on an API server, for leader election.

#pragma once

#include <stop_token>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "kube/resource.h"
#include "kube/rest_client.h"
#include "runtime/lease_client.h"

namespace injector::kube {

/// May be called from any thread.
class RestLeaseClient final : public runtime::LeaseClient {
 public:
  /// `leases` is the version that the server has: see served_leases().
  RestLeaseClient(RestClient& client, std::string name_space, std::string name,
                  const Resource& leases = kLeases);

  [[nodiscard]] base::Result<runtime::VersionedLease> get(base::Duration timeout,
                                                          const std::stop_token& stop) override;
  [[nodiscard]] base::Result<runtime::VersionedLease> create(const runtime::LeaseRecord& record,
                                                             base::Duration timeout,
                                                             const std::stop_token& stop) override;
  /// A merge patch under the resource version: whatever else the Lease holds stays.
  [[nodiscard]] base::Result<runtime::VersionedLease> update(const runtime::VersionedLease& lease,
                                                             base::Duration timeout,
                                                             const std::stop_token& stop) override;

 private:
  [[nodiscard]] base::Result<runtime::VersionedLease> send(Request request, base::Duration timeout,
                                                           const std::stop_token& stop);

  RestClient& client_;  // Not owned; outlives this.
  const Target target_;
};

}  // namespace injector::kube
