// Where a command reads and writes. Results go to `out`, everything else to `err`.

#pragma once

#include <istream>
#include <ostream>

namespace injector::cli {

struct Streams {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  bool color = false;          // `out` is a terminal that wants colour.
  bool live_progress = false;  // `err` is a terminal.
};

/// What the process returns; the same for every command.
enum ExitCode : int {
  kDone = 0,    // Skips included.
  kFailed = 1,  // Nothing half-written.
  kUsage = 2,
  kUnmet = 3,  // With --strict: something asked for the sidecar and did not get it.
};

}  // namespace injector::cli
