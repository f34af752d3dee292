// explain: for objects in files, and for those that a cluster has.

#include "cli/explain_command.h"

#include <chrono>
#include <iostream>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/cluster.h"
#include "app/command_line.h"
#include "app/flag_checks.h"
#include "cli/explain_objects.h"

namespace injector::app {
namespace {

struct ExplainFlags {
  std::vector<std::string> objects;
  std::vector<std::string> files;
  std::string selector;
  std::string output = "table";
  cli::ListView view;
  bool no_headers = false;
  bool recursive = false;
  bool live = false;
  TemplateFlags tpl;
  std::string configmap;
  ClusterFlags cluster;
  std::string webhook_configuration = "envoy-initializer";
  PolicyFlags policy;
  std::vector<std::string> namespace_files;

  [[nodiscard]] bool of_cluster() const { return !objects.empty() || !selector.empty(); }

  [[nodiscard]] bool asks_cluster() const { return live || of_cluster() || !configmap.empty(); }
};

base::Result<cli::FoundTemplate> template_of_files(const TemplateFlags& flags) {
  INJ_ASSIGN(auto loaded, flags.load());
  return cli::FoundTemplate{std::move(loaded),
                            flags.config.empty()
                                ? "built-in template"
                                : fmt::format("file {}", fmt::join(flags.config, ", ")),
                            {}};
}

int explain_files(const ExplainFlags& flags, kube::RestClient* client, cli::FoundTemplate found) {
  const cli::Streams streams = process_streams();
  auto namespaces = cli::read_namespaces(flags.namespace_files, streams);
  if (!namespaces) {
    return fail(namespaces.error());
  }
  cli::ExplainOptions options;
  options.files = flags.files;
  options.recursion = flags.recursive ? cli::Recursion::Yes : cli::Recursion::No;
  options.view = flags.view;
  options.template_source = found.describe();
  if (client != nullptr) {
    options.look_up = [client](const std::string& name) {
      return cluster::fetch_namespace(*client, name, cli::kCommandPatience);
    };
  }
  return cli::run_explain(
      options, {std::move(found.templates), flags.policy.get(), std::move(namespaces).value()},
      streams);
}

int run_with_cluster(const ExplainFlags& flags) {
  auto client = flags.cluster.connect_for_command();
  if (!client) {
    return fail(client.error());
  }
  auto found = cli::find_template(
      *client.value(), {flags.tpl.config, flags.configmap, flags.tpl.options}, std::cin, {});
  if (!found) {
    return fail(found.error());
  }
  return !flags.of_cluster()
             ? explain_files(flags, client.value().get(), std::move(found).value())
             : cli::run_explain_objects({flags.objects, flags.selector, flags.view,
                                         flags.webhook_configuration, flags.policy.get()},
                                        std::move(found).value(), *client.value(),
                                        std::chrono::system_clock::now(), process_streams());
}

int run_explain(ExplainFlags& flags) {
  auto output = cli::parse_output(flags.output);
  if (!output) {
    return usage_error(output.error());
  }
  flags.view.output = std::move(output).value();
  flags.view.headers = !flags.no_headers;
  if (flags.files.empty() != flags.of_cluster() ||
      (!flags.objects.empty() && !flags.selector.empty())) {
    return usage_error(
        base::invalid("give either files with -f, or objects of a cluster such as deployment/web, "
                      "or Pods with -l"));
  }
  if (flags.of_cluster() && !flags.namespace_files.empty()) {
    return usage_error(
        base::invalid("--namespace-file goes with -f: a live object has its live Namespace"));
  }
  if (flags.asks_cluster()) {
    return run_with_cluster(flags);
  }
  auto found = template_of_files(flags.tpl);
  return found ? explain_files(flags, nullptr, std::move(found).value()) : fail(found.error());
}

void add_flags(CLI::App& command, ExplainFlags& flags) {
  command.add_option("OBJECT", flags.objects,
                     "Objects of a cluster, as KIND/NAME: pod/web-0, deployment/web");
  command.add_option("-f,--filename", flags.files,
                     "A file, a directory, or - for standard input; may be repeated");
  command.add_flag("-R,--recursive", flags.recursive,
                   "Read the subdirectories of directories as well");
  command.add_option("-l,--selector", flags.selector,
                     "Instead of OBJECT: the Pods with these labels");
  add_list_flags(command, flags.output, flags.no_headers, flags.view.sort_by);
  command.add_flag("--live", flags.live,
                   "With -f: template and Namespaces are those of the cluster");
  flags.tpl.add_to(command);
  command.get_option("--config")
      ->description(
          "The template, or the ConfigMap that holds it [default: the cluster's, with OBJECT or "
          "--live; else the built-in Envoy]");
  command
      .add_option("--configmap", flags.configmap,
                  "The template: a ConfigMap of a cluster, as [NS/]NAME")
      ->check(configmap_check())
      ->excludes("--config");
  flags.cluster.add_to(command);
  command.add_option("-n,--namespace", flags.cluster.options.name_space,
                     "Where OBJECT is [default: the context's namespace]");
  command
      .add_option("--webhook-configuration", flags.webhook_configuration,
                  "With OBJECT: the MutatingWebhookConfiguration that calls us")
      ->capture_default_str();
  flags.policy.add_to(command);
  command.add_option("--namespace-file", flags.namespace_files,
                     "Namespace objects, for the rules that look at them; may be repeated");
}

}  // namespace

void add_explain_command(CLI::App& app, Chosen& chosen) {
  auto flags = std::make_shared<ExplainFlags>();
  CLI::App& command =
      *app.add_subcommand("explain", "Say what would happen to each object, and why");
  add_flags(command, *flags);
  command.footer(
      "The first line says which template it is about. With OBJECT: which rule decides, whether "
      "the\nwebhook is called at all, and what the object has today.\n"
      "\n"
      "Examples:\n"
      "  envoy-initializer explain -f manifests/\n"
      "  envoy-initializer explain -f pod.yaml --namespace-file namespace.yaml -o json\n"
      "  envoy-initializer explain -f pod.yaml --live\n"
      "  envoy-initializer explain deployment/web pod/web-0 -n shop\n"
      "  envoy-initializer explain -l app=web -o wide");
  command.callback([flags, &chosen] { chosen.work = [flags] { return run_explain(*flags); }; });
}

}  // namespace injector::app
