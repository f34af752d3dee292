// `envoy-initializer patch diff` and `patch apply`: the patch engine by hand.
//
// Documents are JSON or YAML, from a file or, as `-`, from standard input. The result goes to `out`
// in one piece after everything has succeeded, so a failure leaves nothing half-written; messages
// go to `err`. The functions answer the exit code: 0 done, 1 failed.

#pragma once

#include <iosfwd>
#include <string>

namespace injector::cli {

enum class PatchType { Strategic, Merge, Json };

struct PatchDiffOptions {
  std::string original;  // A path or `-`.
  std::string modified;
  std::string kind;  // Empty: the kind that the original names.
};

struct PatchApplyOptions {
  std::string original;
  std::string patch;
  std::string kind;
  PatchType type = PatchType::Strategic;
};

struct PatchStreams {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
};

/// Prints the two-way strategic merge patch as JSON.
[[nodiscard]] int run_patch_diff(const PatchDiffOptions& options, PatchStreams streams);

/// Prints the patched document in the format of the original.
[[nodiscard]] int run_patch_apply(const PatchApplyOptions& options, PatchStreams streams);

}  // namespace injector::cli
