// The commands that need no cluster; inject and explain can take their template from one.

#include <algorithm>
#include <iostream>
#include <utility>

#include "app/cluster.h"
#include "app/command_line.h"
#include "app/flag_checks.h"
#include "app/live_flags.h"
#include "cli/explain_command.h"
#include "cli/inject_command.h"
#include "cli/patch_command.h"

namespace injector::app {
namespace {

constexpr const char* kFilesHelp = "A file, a directory, or - for standard input; may be repeated";

struct RewriteFlags {
  cli::RewriteOptions options;
  std::string output;
  bool recursive = false;

  void add_to(CLI::App& command) {
    command.add_option("-f,--filename", options.files, kFilesHelp)->required();
    command.add_flag("-R,--recursive", recursive, "Read the subdirectories of directories as well");
    command.add_option("-o,--output", output, "[default: the format of the input]")
        ->check(CLI::IsMember({"yaml", "json", "diff", "strategic", "json-patch"}));
    command.add_flag("--in-place", options.in_place, "Replace the files instead of printing");
    command
        .add_flag(
            "--allow-reformat", options.allow_reformat,
            "Let documents be reformatted, without their comments, where they cannot be edited")
        ->needs("--in-place");
    command.add_flag("-q,--quiet", options.quiet, "Report only warnings and failures");
  }

  [[nodiscard]] base::Result<cli::RewriteOptions> get() const {
    cli::RewriteOptions result = options;
    result.output = output.empty()
                        ? cli::OutputFormat::AsInput
                        : cli::parse_output_format(output).value_or(cli::OutputFormat::AsInput);
    const bool writes_documents = result.output == cli::OutputFormat::AsInput ||
                                  result.output == cli::OutputFormat::Yaml ||
                                  result.output == cli::OutputFormat::Json;
    if (result.in_place && !writes_documents) {
      return base::invalid("--in-place does not go with -o " + output);
    }
    const auto standard_inputs = std::count(result.files.begin(), result.files.end(), "-");
    if (result.in_place && standard_inputs > 0) {
      return base::invalid("--in-place does not go with -f -: standard input has no place");
    }
    if (standard_inputs > 1) {
      return base::invalid("-f - is given twice: standard input can be read once only");
    }
    result.recursion = recursive ? cli::Recursion::Yes : cli::Recursion::No;
    return result;
  }
};

// Flags of the commands that decide: the template, the policy, the namespaces.
struct DecisionFlags {
  TemplateFlags tpl;
  std::string configmap;
  ClusterFlags cluster;
  PolicyFlags policy;
  std::vector<std::string> namespace_files;

  void add_to(CLI::App& command) {
    tpl.add_to(command);
    command
        .add_option("--configmap", configmap,
                    "The template: a ConfigMap of a cluster, as [NS/]NAME")
        ->check(configmap_check())
        ->excludes("--config");
    cluster.add_to(command);
    policy.add_to(command);
    command.add_option("--namespace-file", namespace_files,
                       "Namespace objects, for the rules that look at them; may be repeated");
  }

  [[nodiscard]] base::Result<cli::DecisionContext> load(const cli::Streams& streams) const {
    INJ_ASSIGN(auto loaded, configmap.empty() ? tpl.load() : from_cluster());
    INJ_ASSIGN(auto namespaces, cli::read_namespaces(namespace_files, streams));
    return cli::DecisionContext{std::move(loaded), policy.get(), std::move(namespaces)};
  }

 private:
  [[nodiscard]] base::Result<core::TemplateSet> from_cluster() const {
    INJ_ASSIGN(auto client, cluster.connect(nullptr));
    return cluster::fetch_templates(*client, configmap, tpl.options, tpl.native());
  }
};

void add_inject(CLI::App& app, Chosen& chosen) {
  struct Flags {
    RewriteFlags rewrite;
    DecisionFlags decision;
    bool force = false;
    bool update = false;
  };

  auto flags = std::make_shared<Flags>();
  CLI::App& command = *app.add_subcommand("inject", "Add the sidecar to objects in files");
  flags->rewrite.add_to(command);
  flags->decision.add_to(command);
  command.add_flag("--force", flags->force, "Inject although nobody asked (an explicit no stays)");
  command.add_flag("--update", flags->update,
                   "Replace sidecars that came from another template than the one in use");
  command.add_flag("--strict", flags->rewrite.options.strict,
                   "Exit 3 if something asked for the sidecar and does not get it");
  command.footer(
      "Examples:\n"
      "  envoy-initializer inject -f deployment.yaml | kubectl apply -f -\n"
      "  envoy-initializer inject -f manifests/ -R --in-place\n"
      "  envoy-initializer inject -f manifests/ --in-place --update --config new.yaml\n"
      "  envoy-initializer inject -f pod.yaml --config configmap.yaml -o strategic\n"
      "  kubectl get deploy web -o yaml | envoy-initializer inject -f - -o diff");
  command.callback([flags, &chosen] {
    chosen.work = [flags]() -> int {
      const cli::Streams streams = process_streams();
      auto options = flags->rewrite.get();
      if (!options) {
        return usage_error(options.error());
      }
      auto context = flags->decision.load(streams);
      if (!context) {
        return fail(context.error());
      }
      context.value().policy.inject_by_default = flags->force;
      return cli::run_inject(options.value(), context.value(), streams,
                             flags->update ? cli::Outdated::Replace : cli::Outdated::Keep);
    };
  });
}

void add_uninject(CLI::App& app, Chosen& chosen) {
  struct Flags {
    RewriteFlags rewrite;
    PolicyFlags policy;
    LiveUninjectFlags live;
  };

  auto flags = std::make_shared<Flags>();
  CLI::App& command = *app.add_subcommand(
      "uninject", "Remove exactly what injection added, by the status annotation");
  flags->rewrite.add_to(command);
  flags->live.add_to(command);
  command
      .add_option("--annotation", flags->policy.policy.key,
                  "The annotation or label that asked for the sidecar")
      ->check(annotation_check())
      ->capture_default_str();
  command.footer(
      "Examples:\n"
      "  envoy-initializer uninject -f deployment.yaml --in-place\n"
      "  envoy-initializer uninject --live deployment/web -n shop\n"
      "\n"
      "For an object that the cluster has, use --live. kubectl apply removes only what an earlier "
      "apply\nput there, so what the control loop added would stay.");
  command.callback([flags, &command, &chosen] {
    chosen.work = [flags, &command]() -> int {
      if (const std::string problem = flags->live.problem(command); !problem.empty()) {
        return usage_error(base::invalid(problem));
      }
      if (flags->live.asked()) {
        return flags->live.run(flags->policy.get());
      }
      auto options = flags->rewrite.get();
      if (!options) {
        return usage_error(options.error());
      }
      return cli::run_uninject(options.value(), flags->policy.get(), process_streams());
    };
  });
}

void add_lint(CLI::App& app, Chosen& chosen) {
  struct Flags {
    std::vector<std::string> files;
    templates::TemplateOptions options;
    ServerLintFlags server;
  };

  auto flags = std::make_shared<Flags>();
  CLI::App& command =
      *app.add_subcommand("lint", "Check templates, or the ConfigMaps that hold them");
  command.add_option("FILE", flags->files, "Templates; - for standard input")->required();
  command.add_flag("--allow-unknown-fields", flags->options.allow_unknown_fields,
                   "Let fields through that this version does not know");
  flags->server.add_to(command);
  command.footer(
      "Examples:\n"
      "  envoy-initializer lint manifests/configmap.yaml\n"
      "  envoy-initializer lint --server -n shop template.yaml");
  command.callback([flags, &chosen] {
    chosen.work = [flags] { return flags->server.run(flags->files, flags->options); };
  });
}

void add_patch_diff(CLI::App& patch, Chosen& chosen) {
  auto options = std::make_shared<cli::PatchDiffOptions>();
  CLI::App& command =
      *patch.add_subcommand("diff", "Print the two-way strategic merge patch between two objects");
  command.add_option("ORIGINAL", options->original, "JSON or YAML; - for standard input")
      ->required();
  command.add_option("MODIFIED", options->modified, "JSON or YAML; - for standard input")
      ->required();
  command.add_option("--kind", options->kind, "[default: the kind that the original names]");
  command.footer(
      "Example:\n"
      "  kubectl patch --local -f a.yaml --type=strategic \\\n"
      "    -p \"$(envoy-initializer patch diff a.yaml b.yaml)\" -o yaml");
  command.callback([options, &chosen] {
    chosen.work = [options] {
      return cli::run_patch_diff(*options, {std::cin, std::cout, std::cerr});
    };
  });
}

void add_patch_apply(CLI::App& patch, Chosen& chosen) {
  struct Flags {
    cli::PatchApplyOptions options;
    std::string type = "strategic";
  };

  auto flags = std::make_shared<Flags>();
  CLI::App& command = *patch.add_subcommand("apply", "Print an object with a patch applied");
  command.add_option("ORIGINAL", flags->options.original, "JSON or YAML; - for standard input")
      ->required();
  command.add_option("PATCH", flags->options.patch, "JSON or YAML; - for standard input")
      ->required();
  command.add_option("--kind", flags->options.kind, "[default: the kind that the original names]");
  command.add_option("--type", flags->type, "Which kind of patch it is")
      ->check(CLI::IsMember({"strategic", "merge", "json"}))
      ->capture_default_str();
  command.footer("Example:\n  envoy-initializer patch apply pod.yaml patch.json --type json");
  command.callback([flags, &chosen] {
    chosen.work = [flags] {
      flags->options.type = flags->type == "merge"  ? cli::PatchType::Merge
                            : flags->type == "json" ? cli::PatchType::Json
                                                    : cli::PatchType::Strategic;
      return cli::run_patch_apply(flags->options, {std::cin, std::cout, std::cerr});
    };
  });
}

}  // namespace

void add_local_commands(CLI::App& app, Chosen& chosen) {
  add_inject(app, chosen);
  add_uninject(app, chosen);
  add_explain_command(app, chosen);
  add_lint(app, chosen);
  CLI::App& patch = *app.add_subcommand("patch", "The patch engine by hand");
  patch.require_subcommand(1);
  add_patch_diff(patch, chosen);
  add_patch_apply(patch, chosen);
}

}  // namespace injector::app
