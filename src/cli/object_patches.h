// The bare patches of changed objects, for -o strategic and -o json-patch. Pure; any thread.

#pragma once

#include "base/json.h"
#include "base/result.h"
#include "cli/objects.h"

namespace injector::cli {

/// The two-way strategic merge patch; for objects that are not built in, whose lists no server
/// merges, a merge patch (RFC 7386). Empty where nothing changes.
[[nodiscard]] base::Result<base::Json> strategic_patch_of(const base::Json& before,
                                                          const ObjectChange& change);

/// RFC 6902.
[[nodiscard]] base::Result<base::Json> json_patch_of(const base::Json& before,
                                                     const ObjectChange& change);

}  // namespace injector::cli
