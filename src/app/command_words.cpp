#include "app/command_words.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/edit_distance.h"

namespace injector::app {
namespace {

std::vector<const CLI::App*> commands_of(const CLI::App& parent) {
  return parent.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<std::string> names_of(const CLI::App& parent) {
  std::vector<std::string> names;
  for (const CLI::App* command : commands_of(parent)) {
    names.push_back(command->get_name());
    for (const std::string& alias : command->get_aliases()) {
      names.push_back(alias);
    }
  }
  return names;
}

const CLI::App* command_named(const CLI::App& parent, const std::string& name) {
  const auto commands = commands_of(parent);
  const auto found = std::find_if(commands.begin(), commands.end(), [&](const CLI::App* command) {
    return command->check_name(name);
  });
  return found == commands.end() ? nullptr : *found;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

std::string advice(const std::string& path, const std::vector<std::string>& names,
                   const std::string& word) {
  const std::string_view near = base::nearest(word, names);
  const std::string meant = near.empty() ? "" : fmt::format("did you mean {}?\n", near);
  return fmt::format("{}commands: {}\n{} --help says more", meant, joined(names), path);
}

}  // namespace

std::vector<std::string> help_as_flag(std::vector<std::string> words) {
  if (!words.empty() && words.front() == "help") {
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  return words;
}

std::string unknown_command(const CLI::App& application, const std::vector<std::string>& words) {
  const CLI::App* parent = &application;
  std::string path = application.get_name();
  for (const std::string& word : words) {
    const auto names = names_of(*parent);
    if (names.empty() || word.starts_with('-')) {
      return {};
    }
    const CLI::App* command = command_named(*parent, word);
    if (command == nullptr) {
      return fmt::format("error: there is no command {} {}\n{}", path, word,
                         advice(path, names, word));
    }
    path += " " + command->get_name();
    parent = command;
  }
  const auto names = names_of(*parent);
  return names.empty() ? "" : fmt::format("error: which command?\n{}", advice(path, names, ""));
}

}  // namespace injector::app
