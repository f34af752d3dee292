// check: runs a table of checks and prints what they found.

#pragma once

#include "cli/check.h"
#include "cli/streams.h"

namespace injector::cli {

enum class CheckFormat {
  Table,  // One line per check, and what to do about those that are not well.
  Json,
  Short,  // Only those that are not well.
};

/// kFailed if a check failed; warnings and checks that were left out do not count. Where the first
/// one fails, the others are not run.
[[nodiscard]] int run_check(const std::vector<Check>& checks, const CheckContext& context,
                            CheckFormat format, const Streams& streams);

}  // namespace injector::cli
