#include "cli/command_tree.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/edit_distance.h"

namespace injector::cli {
namespace {

std::vector<std::string> command_names(const CommandSpec& parent) {
  std::vector<std::string> names;
  for (const CommandSpec& command : parent.commands) {
    names.push_back(command.name);
    names.insert(names.end(), command.aliases.begin(), command.aliases.end());
  }
  return names;
}

std::vector<std::string> flag_names(const CommandSpec& command) {
  std::vector<std::string> names;
  for (const FlagSpec& flag : command.flags) {
    names.insert(names.end(), flag.names.begin(), flag.names.end());
  }
  return names;
}

std::string suggestion(const std::string& word, const std::vector<std::string>& names) {
  const std::string_view near = base::nearest(word, names);
  return near.empty() ? "" : fmt::format("did you mean {}?\n", near);
}

std::string advice(const std::string& path, const std::vector<std::string>& names,
                   const std::string& word) {
  return fmt::format("{}commands: {}\n{} --help says more", suggestion(word, names),
                     fmt::join(names, ", "), path);
}

bool is_flag(const std::string& word) {
  return word.size() > 1 && word.front() == '-';
}

// The first of the words that looks like a flag and is none. What follows a flag with a value is
// that value, and everything behind "--" is an argument.
std::string find_bad_flag(const CommandSpec& command, const std::string& path,
                          const std::vector<std::string>& words, std::size_t at) {
  for (; at < words.size() && words[at] != "--"; ++at) {
    const std::string name = words[at].substr(0, words[at].find('='));
    if (!is_flag(name)) {
      continue;
    }
    const FlagSpec* flag = command.flag(name);
    if (flag != nullptr) {
      const bool value_follows = flag->kind != ValueKind::None && name == words[at];
      at += value_follows ? 1U : 0U;
    } else if (name.starts_with("--")) {
      return fmt::format("error: {} has no flag {}\n{}{} --help says more", path, name,
                         suggestion(name, flag_names(command)), path);
    }
  }
  return {};
}

}  // namespace

const CommandSpec* CommandSpec::command(std::string_view wanted) const {
  const auto found = std::find_if(commands.begin(), commands.end(), [&](const CommandSpec& one) {
    return one.name == wanted ||
           std::find(one.aliases.begin(), one.aliases.end(), wanted) != one.aliases.end();
  });
  return found == commands.end() ? nullptr : &*found;
}

const FlagSpec* CommandSpec::flag(std::string_view wanted) const {
  const auto found = std::find_if(flags.begin(), flags.end(), [&](const FlagSpec& one) {
    return std::find(one.names.begin(), one.names.end(), wanted) != one.names.end();
  });
  return found == flags.end() ? nullptr : &*found;
}

std::vector<std::string> help_as_flag(std::vector<std::string> words) {
  if (!words.empty() && words.front() == "help") {
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  return words;
}

std::string find_mistake(const CommandSpec& root, const std::vector<std::string>& words) {
  const CommandSpec* parent = &root;
  std::string path = root.name;
  std::size_t at = 0;
  for (; at < words.size() && !parent->commands.empty() && !is_flag(words[at]); ++at) {
    const CommandSpec* command = parent->command(words[at]);
    if (command == nullptr) {
      return fmt::format("error: there is no command {} {}\n{}", path, words[at],
                         advice(path, command_names(*parent), words[at]));
    }
    path += " " + command->name;
    parent = command;
  }
  if (at == words.size() && !parent->commands.empty()) {
    return fmt::format("error: which command?\n{}", advice(path, command_names(*parent), ""));
  }
  return find_bad_flag(*parent, path, words, at);
}

}  // namespace injector::cli
