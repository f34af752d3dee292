// The YAML of a kubeconfig as JSON: the only place that knows yaml-cpp, whose exceptions stop here.
// Manifests are read by codec, which must know where each of their bytes stands; a kubeconfig is
// only read.
//
// Scalars mean what they mean to kubectl: plain true, yes and on are booleans, plain digits are
// numbers, ~ and nothing are null, and everything in quotes is a string. Text that is too large,
// nested too deeply, or that grows too large by its aliases is an error, as is everything else that
// makes no object; errors name line and column.
//
// Pure; any thread.

#pragma once

#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace injector::kube {

/// The first document of `text`.
[[nodiscard]] base::Result<base::Json> read_yaml(std::string_view text);

}  // namespace injector::kube
