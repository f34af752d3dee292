// RFC 7386 JSON Merge Patch: null removes, objects merge, everything else replaces. Lists are
// replaced whole, which is why Kubernetes has its strategic merge patch.
//
// Pure; may be called from any thread; safe on hostile documents.

#pragma once

#include "base/json.h"
#include "base/result.h"

namespace injector::patch {

[[nodiscard]] base::Result<base::Json> apply_merge_patch(const base::Json& document,
                                                         const base::Json& patch);

}  // namespace injector::patch
