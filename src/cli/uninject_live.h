// uninject --live: takes the sidecar out of objects that a cluster has, exactly what their status
// annotation says was put in.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "cli/streams.h"
#include "core/policy.h"

namespace injector::cli {

/// The cluster, as far as this command needs it.
struct LiveObjects {
  /// Of "deployment/web".
  std::function<base::Result<base::Json>(const std::string& name)> get;
  /// Makes the object what `wanted` says, unless somebody changed it since it was read.
  std::function<base::Result<void>(const std::string& name, const base::Json& before,
                                   const base::Json& wanted)>
      change;
};

enum class Writing { Real, DryRun };

/// One line per object on `err`. One that cannot be uninjected does not stop the others, and makes
/// the exit code that of a failure.
[[nodiscard]] int run_uninject_live(const std::vector<std::string>& names,
                                    const LiveObjects& cluster, const core::Policy& policy,
                                    Writing writing, const Streams& streams);

}  // namespace injector::cli
