#include "app/initializer_flags.h"

namespace injector::app {

void InitializerFlags::add_to(CLI::App& command) {
  add_what(command);
  add_pods(command);
  add_how(command);
  cluster.add_to(command);
  command.add_option("-n,--namespace", cluster.options.name_space,
                     "Only objects of this namespace [default: all]");
  policy_flags.add_to(command);
  log.add_to(command);
}

void InitializerFlags::add_what(CLI::App& command) {
  command.add_option("--mode", mode, "What to look after; auto asks the API server what it can do")
      ->check(CLI::IsMember({"auto", "initializer", "workloads", "repair"}))
      ->capture_default_str();
  auto* file = command.add_option(
      "--config", config, "The template: a file, or the folder of a mounted ConfigMap; followed");
  command.add_option("--configmap", config_map, "The template: a ConfigMap, [NS/]NAME; followed")
      ->excludes(file);
  command.add_flag("--allow-unknown-fields", template_options.allow_unknown_fields,
                   "Let template fields through that this version does not know");
  command.add_option("--resources", resources, "Which workloads to look after")
      ->delimiter(',')
      ->check(CLI::IsMember({"deployments", "statefulsets", "daemonsets", "jobs", "cronjobs"}))
      ->capture_default_str();
  command.add_flag("--rollout", rollout,
                   "Replace the sidecar of workloads that have the one of another template");
  command.add_flag("--dry-run", dry_run,
                   "Write nothing; have the API server check every change (but for --mode "
                   "initializer) and print what would be done");
}

void InitializerFlags::add_pods(CLI::App& command) {
  command
      .add_option("--initializer-name", initializer_name,
                  "With --mode initializer: our name in the InitializerConfiguration")
      ->capture_default_str();
  command
      .add_option("--require-annotation", require_annotation,
                  "=false: inject where neither Pod nor Namespace says anything")
      ->capture_default_str();
  command
      .add_option("--repair", repair, "With --mode repair: what to do about Pods without sidecar")
      ->check(CLI::IsMember({"report", "evict"}))
      ->capture_default_str();
  command.add_option("--evict-per-minute", evict_per_minute, "Pods evicted at the most")
      ->check(CLI::Range(0.01, 6000.0))
      ->capture_default_str();
}

void InitializerFlags::add_how(CLI::App& command) {
  command.add_option("--workers", workers, "Objects worked on at a time, for each resource")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  command.add_option("--resync", resync, "How often to look at everything again; 0: never")
      ->check(duration_check())
      ->capture_default_str();
  command
      .add_option("--qps", qps,
                  "Requests a second to the API server, Events and the lease apart; 0: no limit")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_option("--burst", burst, "How many requests may go above --qps at once")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  command.add_flag("--leader-elect", leader_elect, "Only one of several replicas works at a time");
  command.add_option("--admin-listen", admin_listen, "Address of the admin port (plain HTTP)")
      ->capture_default_str();
}

core::Policy InitializerFlags::policy() const {
  core::Policy policy = policy_flags.get();
  policy.inject_by_default = !require_annotation;
  return policy;
}

}  // namespace injector::app
