// The command line that CLI11 parses, as the data that completion and suggestions work on.

#pragma once

#include <CLI/CLI.hpp>

#include "cli/command_tree.h"

namespace injector::app {

/// Commands and flags of an empty group are hidden, and left out.
[[nodiscard]] cli::CommandSpec command_tree(const CLI::App& application);

/// Has help texts call the program as its user does: in the examples of every command, `name` takes
/// the place of "envoy-initializer" where a command follows.
void use_name_in_help(CLI::App& application, const std::string& name);

}  // namespace injector::app
