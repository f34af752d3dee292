#include "app/command_tree.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace injector::app {
namespace {

using cli::CommandSpec;
using cli::FlagSpec;
using cli::ValueKind;

constexpr std::string_view kProgram = "envoy-initializer";

std::vector<const CLI::App*> commands_of(const CLI::App& parent) {
  return parent.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); });
}

// What a flag's value is, where its name tells.
ValueKind kind_by_name(const std::string& name) {
  static const std::map<std::string, ValueKind> kinds{
      {"filename", ValueKind::File},       {"config", ValueKind::File},
      {"kubeconfig", ValueKind::File},     {"namespace-file", ValueKind::File},
      {"tls-cert", ValueKind::File},       {"tls-key", ValueKind::File},
      {"client-ca", ValueKind::File},      {"ca-out", ValueKind::File},
      {"FILE", ValueKind::File},           {"ORIGINAL", ValueKind::File},
      {"MODIFIED", ValueKind::File},       {"PATCH", ValueKind::File},
      {"out", ValueKind::Directory},       {"context", ValueKind::Context},
      {"namespace", ValueKind::Namespace}, {"configmap", ValueKind::ConfigMap},
      {"OBJECT", ValueKind::Object},       {"live", ValueKind::Object}};
  const auto found = kinds.find(name);
  return found == kinds.end() ? ValueKind::Text : found->second;
}

// CLI::IsMember describes itself as "{yaml,json}" in the type's name; that is the only trace of it.
std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t open = type.find('{');
  const std::size_t close = type.find('}', open);
  std::vector<std::string> choices;
  if (open == std::string::npos || close == std::string::npos) {
    return choices;
  }
  std::string_view list = std::string_view(type).substr(open + 1, close - open - 1);
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    choices.emplace_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return choices;
}

FlagSpec flag_of(const CLI::Option& option) {
  FlagSpec flag;
  for (const std::string& name : option.get_lnames()) {
    flag.names.push_back("--" + name);
  }
  for (const std::string& name : option.get_snames()) {
    flag.names.push_back("-" + name);
  }
  flag.description = option.get_description();
  if (option.get_items_expected_max() == 0) {
    return flag;
  }
  flag.choices = choices_of(option);
  flag.kind = flag.choices.empty() ? kind_by_name(option.get_single_name()) : ValueKind::Choice;
  return flag;
}

CommandSpec spec_of(const CLI::App& command) {
  CommandSpec spec;
  spec.name = command.get_name();
  spec.aliases = command.get_aliases();
  spec.description = command.get_description();
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty()) {
      continue;
    }
    auto& list = option->get_positional() ? spec.arguments : spec.flags;
    list.push_back(flag_of(*option));
  }
  for (const CLI::App* child : commands_of(command)) {
    spec.commands.push_back(spec_of(*child));
  }
  return spec;
}

// In the texts of commands, "envoy-initializer COMMAND" is a call, and "envoy-initializer" alone
// may be a namespace or a file.
std::string renamed(std::string text, const std::vector<const CLI::App*>& commands,
                    const std::string& name) {
  for (const CLI::App* command : commands) {
    const std::string call = fmt::format("{} {}", kProgram, command->get_name());
    for (std::size_t at = text.find(call); at != std::string::npos; at = text.find(call, at)) {
      text.replace(at, kProgram.size(), name);
      at += name.size();
    }
  }
  return text;
}

}  // namespace

CommandSpec command_tree(const CLI::App& application) {
  return spec_of(application);
}

void use_name_in_help(CLI::App& application, const std::string& name) {
  const auto all = commands_of(application);
  application.name(name);
  application.footer(fmt::format("{} COMMAND --help says more, with examples.", name));
  for (CLI::App* command : application.get_subcommands([](CLI::App*) { return true; })) {
    command->footer(renamed(command->get_footer(), all, name));
    for (CLI::App* nested : command->get_subcommands([](CLI::App*) { return true; })) {
      nested->footer(renamed(nested->get_footer(), all, name));
    }
  }
}

}  // namespace injector::app
