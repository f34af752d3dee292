// status: how the Pods of a cluster stand to the template.

#include "cli/status_command.h"

#include <memory>
#include <string>

#include "app/cluster.h"
#include "app/command_line.h"
#include "app/flag_checks.h"

namespace injector::app {
namespace {

struct StatusFlags {
  ClusterFlags cluster;
  PolicyFlags policy;
  TemplateFlags tpl;
  std::string configmap;
  std::string name_space;
  bool all_namespaces = false;
  std::string selector;
  bool watch = false;
  bool exit_code = false;
  bool show_all = false;
  bool no_headers = false;
  std::string sort_by;
  std::string output = "table";
};

int run(const StatusFlags& flags) {
  auto output = cli::parse_output(flags.output);
  if (!output) {
    return usage_error(output.error());
  }
  const auto client = flags.cluster.connect_for_command();
  if (!client) {
    return fail(client.error());
  }
  cli::StatusOptions options;
  options.name_space =
      flags.name_space.empty() ? client.value()->default_namespace() : flags.name_space;
  if (flags.all_namespaces) {
    options.name_space.clear();
  }
  options.selector = flags.selector;
  options.view = {std::move(output).value(), flags.show_all, !flags.no_headers, flags.sort_by};
  options.watch = flags.watch;
  options.exit_code = flags.exit_code;
  options.tpl = {flags.tpl.config, flags.configmap, flags.tpl.options};
  options.policy = flags.policy.get();
  return cli::run_status(options, *client.value(), process_streams());
}

}  // namespace

void add_status_command(CLI::App& app, Chosen& chosen) {
  auto flags = std::make_shared<StatusFlags>();
  CLI::App& command =
      *app.add_subcommand("status", "List a cluster's Pods: injected, missing, outdated");
  flags->cluster.add_to(command);
  auto* one =
      command.add_option("-n,--namespace", flags->name_space, "[default: the context's namespace]");
  command.add_flag("-A,--all-namespaces", flags->all_namespaces, "All namespaces")->excludes(one);
  command.add_option("-l,--selector", flags->selector,
                     "Only Pods with these labels: app=web,tier!=x");
  command.add_flag("--show-all", flags->show_all, "A line per Pod, not per owner");
  add_list_flags(command, flags->output, flags->no_headers, flags->sort_by);
  command.add_flag("-w,--watch", flags->watch, "Go on, and print what changes");
  command.add_flag("--exit-code", flags->exit_code,
                   "Exit 3 if a Pod asked for the sidecar and runs without it");
  flags->tpl.add_to(command);
  command.get_option("--config")->description(kClusterTemplateHelp);
  command
      .add_option("--configmap", flags->configmap,
                  "The template's ConfigMap, as [NS/]NAME [default: "
                  "envoy-initializer/envoy-initializer, if there is one]")
      ->check(configmap_check())
      ->excludes("--config");
  flags->policy.add_to(command);
  command.footer(
      "The first line says which template the Pods were compared with.\n"
      "\n"
      "Examples:\n"
      "  envoy-initializer status -A\n"
      "  envoy-initializer status -n shop --exit-code\n"
      "  envoy-initializer status -A --sort-by=.missing -o wide\n"
      "  envoy-initializer status -l app=web --show-all -w\n"
      "  envoy-initializer status -o jsonpath='{.owners[*].owner}'\n"
      "\n"
      "To read the Pods of one namespace is all that -n needs; what else may not be read is "
      "noted.");
  command.callback([flags, &chosen] { chosen.work = [flags] { return run(*flags); }; });
}

}  // namespace injector::app
