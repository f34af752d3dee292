// The inverse of injection, by what the status annotation says was added. Pure; any thread.

#pragma once

#include "base/json.h"
#include "base/result.h"
#include "core/policy.h"
#include "core/status.h"

namespace injector::core {

/// The Pod's own account of its injection; empty where it has none, an Error where it is
/// unreadable.
[[nodiscard]] base::Result<std::optional<Status>> injection_status(const base::Json& pod,
                                                                   const Policy& policy);

/// The Pod without what `status` lists, and without the annotation itself. What somebody took out
/// already is not missed; parents that injection created go when they are empty again.
[[nodiscard]] base::Json without_injection(base::Json pod, const Status& status,
                                           const Policy& policy);

}  // namespace injector::core
