// Small files read whole.

#pragma once

#include <string>

#include "base/result.h"

namespace injector::kube {

/// The content, at most 16 MiB of it. Unlike base::read_file(), which follows files, it takes pipes
/// as well: `--kubeconfig <(command)` is a way to give one. NotFound where there is no such file;
/// the message names it.
[[nodiscard]] base::Result<std::string> read_file(const std::string& path);

}  // namespace injector::kube
