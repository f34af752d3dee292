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

/// The policy version that pods/eviction takes, for EvictOptions; NotFound where there is none.
[[nodiscard]] base::Result<std::string> eviction_version(RestClient& client,
                                                         const std::stop_token& stop);

/// Whether dryRun=All is a dry run: older servers than 1.13 do not know it, and would write.
[[nodiscard]] base::Result<bool> serves_dry_run(RestClient& client, const std::stop_token& stop);

}  // namespace injector::kube
