// Runs a command and collects what it writes to standard output.

#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/until.h"

namespace injector::kube {

struct Command {
  std::string program;  // A path, or a bare name to be found in PATH.
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;  // Added to ours.
  bool interactive = false;  // Gets our standard input; otherwise it has none.
};

/// Standard output of a command that exits with 0; standard error is ours. NotFound: no such
/// program. A stop or the deadline kills it. May be called from any thread.
[[nodiscard]] base::Result<std::string> run_command(const Command& command,
                                                    const base::Until& until);

}  // namespace injector::kube
