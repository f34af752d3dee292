// The unified diff of two texts, as diff -u prints it. Pure; any thread.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace injector::cli {

struct DiffStart {
  std::size_t old_line = 1;  // The line of the file at which `before` begins,
  std::size_t new_line = 1;  // and `after`.
};

/// The hunks, with three lines of context and no file header; empty if the texts are the same.
[[nodiscard]] std::string unified_diff(std::string_view before, std::string_view after,
                                       DiffStart start = {});

/// Red for what goes, green for what comes, cyan for the hunk's head.
[[nodiscard]] std::string coloured(std::string_view diff);

}  // namespace injector::cli
