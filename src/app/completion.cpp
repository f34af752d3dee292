// completion bash|zsh|fish: made from the command line itself, so it never lags behind.

#include <iostream>
#include <string>

#include <fmt/format.h>

#include "app/command_line.h"

namespace injector::app {
namespace {

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

std::string escaped(std::string text, char quote) {
  std::string result;
  for (const char c : text) {
    result += c == quote ? std::string("'\\''") : std::string(1, c);
  }
  return result;
}

// Calls visit(words before, command) for the application and every command below it.
template <class Visit>
void each_command(const CLI::App& command, const std::string& path, Visit visit) {
  visit(path, command);
  for (const CLI::App* child : command.get_subcommands([](const CLI::App*) { return true; })) {
    each_command(*child, path.empty() ? child->get_name() : path + " " + child->get_name(), visit);
  }
}

std::string words_of(const CLI::App& command) {
  std::string words;
  for (const CLI::App* child : command.get_subcommands([](const CLI::App*) { return true; })) {
    words += child->get_name() + " ";
  }
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      words += "--" + name + " ";
    }
  }
  return words;
}

std::string bash_script(const CLI::App& app) {
  std::string cases;
  each_command(app, "", [&](const std::string& path, const CLI::App& command) {
    cases += fmt::format("    '{}') words='{}' ;;\n", path, words_of(command));
  });
  return fmt::format(R"(# bash completion for envoy-initializer
_envoy_initializer() {{
  local path='' words='' i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "${{COMP_WORDS[i]}}" in
      -*) break ;;
      *) path="${{path:+$path }}${{COMP_WORDS[i]}}" ;;
    esac
  done
  case "$path" in
{}  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}")
  [ ${{#COMPREPLY[@]}} -gt 0 ] || mapfile -t COMPREPLY < <(compgen -f -- "${{COMP_WORDS[COMP_CWORD]}}")
}}
complete -o filenames -F _envoy_initializer envoy-initializer
)",
                     cases);
}

std::string zsh_script(const CLI::App& app) {
  return "#compdef envoy-initializer\nautoload -U +X bashcompinit && bashcompinit\n" +
         bash_script(app);
}

std::string fish_script(const CLI::App& app) {
  std::string script = "# fish completion for envoy-initializer\n";
  each_command(app, "", [&](const std::string& path, const CLI::App& command) {
    const std::string condition =
        path.empty() ? "__fish_use_subcommand"
                     : "__fish_seen_subcommand_from " + path.substr(path.rfind(' ') + 1);
    for (const CLI::App* child : command.get_subcommands([](const CLI::App*) { return true; })) {
      script += fmt::format("complete -c envoy-initializer -n '{}' -a {} -d '{}'\n", condition,
                            child->get_name(), escaped(first_line(child->get_description()), '\''));
    }
    for (const CLI::Option* option : command.get_options()) {
      for (const std::string& name : option->get_lnames()) {
        script += fmt::format("complete -c envoy-initializer -n '{}' -l {} -d '{}'\n", condition,
                              name, escaped(first_line(option->get_description()), '\''));
      }
    }
  });
  return script;
}

}  // namespace

void add_completion_command(CLI::App& app, Chosen& chosen) {
  auto shell = std::make_shared<std::string>();
  CLI::App& command = *app.add_subcommand("completion", "Print a completion script for a shell");
  command.add_option("SHELL", *shell)->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command.footer(
      "Examples:\n"
      "  source <(envoy-initializer completion bash)\n"
      "  envoy-initializer completion fish > ~/.config/fish/completions/envoy-initializer.fish");
  command.callback([shell, &app, &chosen] {
    chosen.work = [shell, &app] {
      std::cout << (*shell == "fish"  ? fish_script(app)
                    : *shell == "zsh" ? zsh_script(app)
                                      : bash_script(app));
      return 0;
    };
  });
}

}  // namespace injector::app
