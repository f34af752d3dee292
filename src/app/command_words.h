// The words of the command line before CLI11 sees them: `help`, and commands that do not exist.

#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace injector::app {

/// `help patch diff` as `patch diff --help`; everything else as it is.
[[nodiscard]] std::vector<std::string> help_as_flag(std::vector<std::string> words);

/// What to say if the words name no command, or none that there is; empty: they do.
[[nodiscard]] std::string unknown_command(const CLI::App& application,
                                          const std::vector<std::string>& words);

}  // namespace injector::app
