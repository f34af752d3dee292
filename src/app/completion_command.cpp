// completion bash|zsh|fish, and __complete, which the scripts call.

#include <chrono>
#include <iostream>
#include <memory>
#include <string>

#include "app/cluster.h"
#include "app/command_line.h"
#include "app/command_tree.h"
#include "cli/cluster_names.h"
#include "cli/completion.h"
#include "kube/connect.h"

namespace injector::app {
namespace {

// Somebody has pressed a key and waits.
constexpr auto kPatience = std::chrono::milliseconds(1500);

base::Result<std::unique_ptr<kube::RestClient>> connect(const cli::ClusterWords& words) {
  kube::RestOptions rest;
  rest.qps = 0;
  rest.timeout = kPatience;
  rest.broken_retry = kPatience;
  return kube::connect({words.kubeconfig, words.context, words.master, words.name_space},
                       std::move(rest));
}

cli::Shell shell_named(const std::string& name) {
  return name == "bash" ? cli::Shell::Bash : name == "zsh" ? cli::Shell::Zsh : cli::Shell::Fish;
}

}  // namespace

int run_complete(const CLI::App& application, const std::vector<std::string>& words) {
  cli::ClusterNames names(connect, kube::Environment::of_process());
  cli::write_completion(cli::complete(command_tree(application), words, names), std::cout);
  return cli::kDone;
}

void add_completion_command(CLI::App& app, Chosen& chosen) {
  auto shell = std::make_shared<std::string>();
  CLI::App& command = *app.add_subcommand("completion", "Print a completion script for a shell");
  command.add_option("SHELL", *shell)->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command.footer(
      "Examples:\n"
      "  source <(envoy-initializer completion bash)\n"
      "  source <(envoy-initializer completion zsh)\n"
      "  envoy-initializer completion fish > ~/.config/fish/completions/envoy-initializer.fish\n"
      "\n"
      "For `kubectl envoy-initializer`, kubectl's own completion asks the program "
      "kubectl_complete-envoy_initializer,\nwhich `make install` puts beside the plugin.");
  command.callback([shell, &chosen] {
    chosen.work = [shell] {
      std::cout << cli::completion_script(shell_named(*shell), "envoy-initializer");
      return cli::kDone;
    };
  });
}

}  // namespace injector::app
