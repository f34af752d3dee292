// check: is the installation well; with --pre, can it be installed.

#include "cli/check_command.h"

#include <chrono>
#include <memory>
#include <string>

#include "app/cluster.h"
#include "app/command_line.h"

namespace injector::app {
namespace {

struct CheckFlags {
  ClusterFlags cluster;
  PolicyFlags policy;
  bool pre = false;
  std::string output = "table";
  std::string name_space = "envoy-initializer";
  std::string configuration = "envoy-initializer";
  std::string probe_namespace = "default";

  [[nodiscard]] cli::CheckFormat format() const {
    return output == "json"    ? cli::CheckFormat::Json
           : output == "short" ? cli::CheckFormat::Short
                               : cli::CheckFormat::Table;
  }
};

int run(const CheckFlags& flags) {
  const auto client = flags.cluster.connect_for_command();
  if (!client) {
    return fail(client.error());
  }
  cli::LiveCluster cluster(*client.value());
  const cli::CheckContext context{cluster,
                                  flags.name_space,
                                  flags.configuration,
                                  flags.probe_namespace,
                                  INJ_VERSION,
                                  flags.policy.get(),
                                  std::chrono::system_clock::now()};
  return cli::run_check(flags.pre ? cli::checks_before_installing() : cli::checks_of_installation(),
                        context, flags.format(), process_streams());
}

}  // namespace

void add_check_command(CLI::App& app, Chosen& chosen) {
  auto flags = std::make_shared<CheckFlags>();
  CLI::App& command = *app.add_subcommand("check", "Check an installation, or before installing");
  command.add_flag("--pre", flags->pre, "Before installing: can this cluster have it?");
  command.add_option("-o,--output", flags->output, "How to list the checks")
      ->check(CLI::IsMember({"table", "json", "short"}))
      ->capture_default_str();
  flags->cluster.add_to(command);
  command.add_option("-n,--namespace", flags->name_space, "Where it is installed")
      ->capture_default_str();
  command
      .add_option("--webhook-configuration", flags->configuration,
                  "The MutatingWebhookConfiguration that calls us")
      ->capture_default_str();
  command
      .add_option("--probe-namespace", flags->probe_namespace,
                  "Where a Pod is created in a dry run, to see whether it gets the sidecar")
      ->capture_default_str();
  flags->policy.add_to(command);
  command.footer(
      "Examples:\n"
      "  envoy-initializer check --pre\n"
      "  envoy-initializer check -o short\n"
      "\n"
      "Nothing is changed. Exit codes: 0 no check failed, 1 one did, 2 bad usage. docs/checks.md\n"
      "explains each check and what to do.");
  command.callback([flags, &chosen] { chosen.work = [flags] { return run(*flags); }; });
}

}  // namespace injector::app
