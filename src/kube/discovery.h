// What the API server serves: clusters from 1.9 on differ.
//
// May be called from any thread. One request a question; callers ask at start and remember.

#pragma once

#include <stop_token>
#include <string>

#include "base/result.h"
#include "kube/resource.h"
#include "kube/rest_client.h"

namespace injector::kube {

/// Whether `resource` is served under exactly its group and version.
[[nodiscard]] base::Result<bool> serves(RestClient& client, const Resource& resource,
                                        const std::stop_token& stop);

/// kCronJobs or kCronJobsBeta; NotFound where neither is served.
[[nodiscard]] base::Result<Resource> served_cron_jobs(RestClient& client,
                                                      const std::stop_token& stop);

/// kLeases or kLeasesBeta; NotFound where neither is served.
[[nodiscard]] base::Result<Resource> served_leases(RestClient& client, const std::stop_token& stop);

/// The resource `plural` of `group` in the version that the server prefers, or the first other that
/// has it; NotFound where it is not served.
[[nodiscard]] base::Result<Resource> find_resource(RestClient& client, const std::string& group,
                                                   const std::string& plural,
                                                   const std::stop_token& stop);

/// The policy version that pods/eviction takes, for EvictOptions; NotFound where there is none.
[[nodiscard]] base::Result<std::string> eviction_version(RestClient& client,
                                                         const std::stop_token& stop);

/// Whether dryRun=All is a dry run: older servers than 1.13 do not know it, and would write.
[[nodiscard]] base::Result<bool> serves_dry_run(RestClient& client, const std::stop_token& stop);

/// Whether `restartPolicy: Always` on an init container is kept: before 1.29 the server drops it
/// (1.28 only without a feature gate), and the container blocks its Pod for ever.
[[nodiscard]] base::Result<bool> serves_native_sidecars(RestClient& client,
                                                        const std::stop_token& stop);

}  // namespace injector::kube
