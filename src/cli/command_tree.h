// The command line as data: commands, their flags and what values these take. Made from the flags'
// own definitions, so that completion and suggestions never lag behind. Pure; any thread.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace injector::cli {

/// What stands behind a flag, or in the place of an argument.
enum class ValueKind {
  None,  // The flag takes no value.
  Text,  // Anything.
  Choice,
  File,
  Directory,
  Context,    // Of the kubeconfig.
  Namespace,  // Of the cluster, as the following.
  Object,     // KIND/NAME.
  ConfigMap,  // [NS/]NAME.
};

struct FlagSpec {
  std::vector<std::string> names;  // "--output", "-o"; empty for an argument.
  std::string description;
  ValueKind kind = ValueKind::None;
  std::vector<std::string> choices;  // Of a Choice. One that ends in "=" goes on.
};

struct CommandSpec {
  std::string name;
  std::vector<std::string> aliases;
  std::string description;
  std::vector<FlagSpec> flags;
  std::vector<FlagSpec> arguments;  // The last one may be repeated.
  std::vector<CommandSpec> commands;

  /// By name or alias; null: there is none.
  [[nodiscard]] const CommandSpec* command(std::string_view name) const;

  /// By any of its names; null: there is none.
  [[nodiscard]] const FlagSpec* flag(std::string_view name) const;
};

/// `help patch diff` as `patch diff --help`; everything else as it is.
[[nodiscard]] std::vector<std::string> help_as_flag(std::vector<std::string> words);

/// What to say if the words name no command, or none that there is, or a flag that it does not
/// have, with the one that was probably meant; empty: nothing is wrong with them.
[[nodiscard]] std::string find_mistake(const CommandSpec& root,
                                       const std::vector<std::string>& words);

}  // namespace injector::cli
