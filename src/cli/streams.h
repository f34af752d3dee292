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
inline constexpr int kDone = 0;    // Skips included.
inline constexpr int kFailed = 1;  // Nothing half-written.
inline constexpr int kUsage = 2;
inline constexpr int kUnmet = 3;  // With --strict: something asked for the sidecar, in vain.

}  // namespace injector::cli
