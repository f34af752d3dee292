// inject and uninject: the sidecar into files, and out of them again.

#pragma once

#include "cli/decide.h"
#include "cli/objects.h"
#include "cli/streams.h"

namespace injector::cli {

/// What to do with a sidecar that another template gave.
enum class Outdated { Keep, Replace };

/// What becomes of one object.
[[nodiscard]] base::Result<ObjectChange> inject_object(const base::Json& object,
                                                       const DecisionContext& context,
                                                       Outdated outdated = Outdated::Keep);

[[nodiscard]] int run_inject(const RewriteOptions& options, const DecisionContext& context,
                             const Streams& streams, Outdated outdated = Outdated::Keep);

/// Takes out what the status annotation of an object says was put in.
[[nodiscard]] int run_uninject(const RewriteOptions& options, const core::Policy& policy,
                               const Streams& streams);

}  // namespace injector::cli
