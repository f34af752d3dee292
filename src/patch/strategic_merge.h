// Strategic merge patch: the two-way diff and its application, answering as Kubernetes' own code
// does, value for value and in the same list order. Known differences, all for input that upstream
// refuses or crashes on, are in docs/decisions/0001-unknown-fields.md.
//
// Both functions are pure, may be called from any thread, and are safe on hostile documents:
// nesting beyond base::kMaxJsonDepth is an error, and the time is near linear in the size.

#pragma once

#include "base/json.h"
#include "base/result.h"
#include "patch/schema.h"

namespace injector::patch {

/// The patch that turns `original` into `modified`; `{}` if they are the same. Upstream's known
/// blind spots are ours too: lists with duplicate merge keys, and scalars that are only reordered
/// into alphabetical order, do not round-trip.
[[nodiscard]] base::Result<base::Json> two_way_merge_patch(const base::Json& original,
                                                           const base::Json& modified,
                                                           const Schema& schema);

/// `original` with `patch` applied, as the API server of Kubernetes 1.36 does it.
[[nodiscard]] base::Result<base::Json> apply_strategic(const base::Json& original,
                                                       const base::Json& patch,
                                                       const Schema& schema);

}  // namespace injector::patch
