#include "app/live_flags.h"

#include <algorithm>
#include <iostream>
#include <sstream>
#include <utility>

#include "app/command_line.h"
#include "cli/lint_command.h"
#include "cli/lint_server.h"
#include "cli/live_target.h"
#include "cli/uninject_live.h"
#include "cluster/template_trial.h"
#include "controller/workload_plan.h"
#include "kube/discovery.h"
#include "patch/patch_style.h"

namespace injector::app {
namespace {

using base::Json;

constexpr const char* kFieldManager = "envoy-initializer";

base::Result<void> change_live(kube::RestClient& client, const std::string& name,
                               const Json& before, const Json& wanted, bool dry_run) {
  INJ_ASSIGN(auto body, controller::guarded_patch(before, wanted));
  const auto style = patch::patch_style(base::text_of(base::find(before, "apiVersion")));
  INJ_ASSIGN(const auto target,
             cli::find_live_target(client, name, client.default_namespace(), {}));
  const auto done = client.patch(
      target,
      {style == patch::PatchStyle::Strategic ? kube::PatchType::Strategic : kube::PatchType::Merge,
       std::move(body)},
      {.dry_run = dry_run, .field_manager = kFieldManager}, {});
  return done ? base::Result<void>() : done.error();
}

// Older servers do not know the parameter, and would write.
base::Result<void> check_dry_run(kube::RestClient& client, bool wanted) {
  INJ_ASSIGN(const auto served,
             wanted ? kube::serves_dry_run(client, {}) : base::Result<bool>(true));
  return served ? base::Result<void>()
                : base::invalid("--dry-run needs an API server of 1.13 or later");
}

base::Result<Json> get_by_name(kube::RestClient& client, const std::string& name) {
  const auto target = cli::find_live_target(client, name, client.default_namespace(), {});
  return target ? cli::get_live(client, target.value(), {}) : base::Result<Json>(target.error());
}

}  // namespace

void LiveUninjectFlags::add_to(CLI::App& command) {
  command.get_option("--filename")->required(false);
  command.add_option("--live", objects,
                     "Instead of files: objects of a cluster, as KIND/NAME (deployment/web), which "
                     "are patched");
  command
      .add_flag("--dry-run", dry_run,
                "With --live: have the API server check the patch, and change nothing")
      ->needs("--live");
  cluster.add_to(command);
  command.add_option("-n,--namespace", cluster.options.name_space,
                     "With --live: where they are [default: the context's namespace]");
}

std::string LiveUninjectFlags::problem(const CLI::App& command) const {
  const bool files = command.count("--filename") > 0;
  if (files == asked()) {
    return "give either files with -f, or objects of a cluster with --live";
  }
  for (const char* flag : {"--in-place", "--output"}) {
    if (asked() && command.count(flag) > 0) {
      return std::string(flag) + " goes with -f, not with --live";
    }
  }
  return {};
}

int LiveUninjectFlags::run(const core::Policy& policy) const {
  auto client = cluster.connect_for_command();
  if (!client) {
    return fail(client.error());
  }
  kube::RestClient& api = *client.value();
  if (auto possible = check_dry_run(api, dry_run); !possible) {
    return fail(possible.error());
  }
  const cli::LiveObjects live{
      [&api](const std::string& name) { return get_by_name(api, name); },
      [&api, this](const std::string& name, const Json& before, const Json& wanted) {
        return change_live(api, name, before, wanted, dry_run);
      }};
  return cli::run_uninject_live(objects, live, policy,
                                dry_run ? cli::Writing::DryRun : cli::Writing::Real,
                                process_streams());
}

void ServerLintFlags::add_to(CLI::App& command) {
  command.add_flag("--server", server,
                   "Ask an API server as well: a dry run of a Pod with the template");
  cluster.add_to(command);
  command.add_option("-n,--namespace", cluster.options.name_space,
                     "With --server: where the Pod would be [default: the context's namespace]");
}

int ServerLintFlags::run(const std::vector<std::string>& files,
                         const templates::TemplateOptions& options) const {
  const cli::Streams streams = process_streams();
  if (!server) {
    return cli::run_lint(files, options, streams);
  }
  auto client = cluster.connect_for_command();
  if (!client) {
    return fail(client.error());
  }
  // Both read what is on standard input.
  std::ostringstream input;
  if (std::find(files.begin(), files.end(), "-") != files.end()) {
    input << streams.in.rdbuf();
  }
  std::istringstream first(input.str());
  std::istringstream second(input.str());
  const int linted = cli::run_lint(files, options, {first, streams.out, streams.err});
  const auto trial = [&client](const core::Template& tpl) {
    return cluster::try_template(*client.value(), client.value()->default_namespace(), tpl, {}, {});
  };
  const int asked = cli::run_lint_server(files, options, trial, {second, streams.out, streams.err});
  return linted == cli::kDone ? asked : linted;
}

}  // namespace injector::app
