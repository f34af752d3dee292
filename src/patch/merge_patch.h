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

/// What turns `original` into `modified`, both objects. A null that `modified` has in place of
/// something cannot be said in this format: whoever may have one applies the patch and compares.
[[nodiscard]] base::Json diff_merge_patch(const base::Json& original, const base::Json& modified);

}  // namespace injector::patch
