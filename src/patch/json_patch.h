// RFC 6902 JSON Patch: strict application, and a diff that people can read.
//
// Both functions are pure, may be called from any thread, and are safe on hostile documents.

#pragma once

#include <cstddef>

#include "base/json.h"
#include "base/result.h"
#include "patch/schema.h"

namespace injector::patch {

/// A patch may copy and move this much in all (roughly bytes of JSON): few operations could make a
/// document of any size. The API server has the same limit.
inline constexpr std::size_t kMaxCopiedBytes = 3U << 20U;

/// `document` with all `operations` applied, or, if one fails, an error that names it by number
/// (from 1), operation and path. Nothing half-applied is ever returned. Stricter than the API
/// server: no negative indices, no leading zeros, and replace needs something to replace.
[[nodiscard]] base::Result<base::Json> apply_json_patch(const base::Json& document,
                                                        const base::Json& operations);

/// Operations (add, remove, replace) that turn `original` into `modified`; `[]` if they are the
/// same. A missing parent is added once, as a whole. With a schema, elements of merge lists are
/// matched by key; without one, or where keys are missing or ambiguous, by position. The API
/// server's older JSON Patch library understands the result too.
[[nodiscard]] base::Result<base::Json> diff_json_patch(const base::Json& original,
                                                       const base::Json& modified,
                                                       const Schema* schema = nullptr);

}  // namespace injector::patch
