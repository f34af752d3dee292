// Small files read whole.

#pragma once

#include <string>

#include "base/result.h"

namespace injector::kube {

/// The content, at most 16 MiB of it. NotFound where there is no such file; the message names it.
[[nodiscard]] base::Result<std::string> read_file(const std::string& path);

}  // namespace injector::kube
