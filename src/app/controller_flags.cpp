#include "app/controller_flags.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "app/flag_checks.h"

namespace injector::app {
namespace {

bool is_known(std::string_view resource) {
  constexpr std::array<std::string_view, 5> kKnown = {"deployments", "statefulsets", "daemonsets",
                                                      "jobs", "cronjobs"};
  return std::find(kKnown.begin(), kKnown.end(), resource) != kKnown.end();
}

// "argoproj.io/rollouts".
bool has_group(std::string_view resource) {
  const std::size_t slash = resource.find('/');
  return slash != std::string_view::npos && slash > 0 && slash + 1 < resource.size() &&
         resource.find('/', slash + 1) == std::string_view::npos;
}

CLI::Validator resource_check() {
  return CLI::Validator(
      [](std::string& resource) {
        return is_known(resource) || has_group(resource)
                   ? std::string()
                   : fmt::format(
                         "\"{}\" is none of deployments, statefulsets, daemonsets, jobs, "
                         "cronjobs, nor GROUP/RESOURCE such as argoproj.io/rollouts",
                         resource);
      },
      "");
}

bool contains(const std::vector<std::string>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

void ControllerFlags::add_to(CLI::App& command) {
  add_what(command);
  add_pods(command);
  add_how(command);
  cluster.add_to(command);
  command.add_option("-n,--namespace", cluster.options.name_space,
                     "Only objects of this namespace [default: all]");
  policy_flags.add_to(command);
  log.add_to(command);
}

void ControllerFlags::add_what(CLI::App& command) {
  command.add_option("--mode", mode, "What to look after; auto asks the API server what it can do")
      ->check(CLI::IsMember({"auto", "initializer", "workloads", "repair"}))
      ->capture_default_str();
  auto* file = command.add_option(
      "--config", config,
      "Templates: files, or the folder of a mounted ConfigMap; followed; may be repeated");
  command.add_option("--configmap", config_map, "The template: a ConfigMap, [NS/]NAME; followed")
      ->check(configmap_check())
      ->excludes(file);
  command.add_flag("--allow-unknown-fields", template_options.allow_unknown_fields,
                   "Let fields of containers and volumes through that this version does not know");
  command
      .add_option("--resources", resources,
                  "Which workloads to look after: deployments, statefulsets, daemonsets, jobs, "
                  "cronjobs, or GROUP/RESOURCE (argoproj.io/rollouts) with a pod template in "
                  "spec.template")
      ->delimiter(',')
      ->check(resource_check())
      ->capture_default_str();
  command.add_flag("--rollout", rollout,
                   "Replace the sidecar of workloads that have the one of another template");
  command.add_flag("--dry-run", dry_run,
                   "Write nothing; have the API server check every change (but for --mode "
                   "initializer) and print what would be done; goes on watching unless --once");
  command.add_flag("--once", once, "One pass over everything there is, then exit; no admin port");
}

void ControllerFlags::add_pods(CLI::App& command) {
  command
      .add_option("--initializer-name", initializer_name,
                  "With --mode initializer: our name in the InitializerConfiguration")
      ->capture_default_str();
  command
      .add_option("--require-annotation", require_annotation,
                  "=false: inject where neither Pod nor Namespace says anything")
      ->capture_default_str();
  command
      .add_option("--repair", repair,
                  "With --mode repair: report, or also evict Pods without their sidecar (missing, "
                  "or evict), Pods with that of another template (outdated), or both")
      ->delimiter(',')
      ->check(CLI::IsMember({"report", "missing", "outdated", "evict"}))
      ->capture_default_str();
  command
      .add_option("--evict-per-minute", evict_per_minute, "At most this many evictions per minute")
      ->check(CLI::Range(0.01, 6000.0))
      ->capture_default_str();
}

void ControllerFlags::add_how(CLI::App& command) {
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
  command.add_flag("--leader-elect", leader_elect, "Only one of several replicas works at a time")
      ->excludes("--once");
  command
      .add_option("--lease-namespace", lease_namespace,
                  "Where our Lease and our memory of evictions are [default: POD_NAMESPACE, the "
                  "Pod's or the kubeconfig's namespace]")
      ->envname("POD_NAMESPACE");
  command.add_option("--admin-listen", admin_listen, "Address of the admin port (plain HTTP)")
      ->check(listen_check())
      ->capture_default_str();
}

core::Policy ControllerFlags::policy() const {
  core::Policy policy = policy_flags.get();
  policy.inject_by_default = !require_annotation;
  return policy;
}

controller::RepairOptions ControllerFlags::repair_options() const {
  controller::RepairOptions options;
  options.evict_missing = contains(repair, "missing") || contains(repair, "evict");
  options.evict_outdated = contains(repair, "outdated");
  options.evictions_per_minute = evict_per_minute;
  return options;
}

controller::ModeRequest ControllerFlags::mode_request() const {
  const controller::RepairOptions evictions = repair_options();
  return {.mode = mode,
          .resources = resources,
          .webhook_configuration = kOurName,
          .leader_elect = leader_elect,
          .dry_run = dry_run,
          .evicts = evictions.evict_missing || evictions.evict_outdated};
}

controller::TermOptions ControllerFlags::term_options() const {
  controller::TermOptions options;
  options.name_space = cluster.options.name_space;
  options.initializer_name = initializer_name;
  options.field_manager = kOurName;
  options.workers = workers;
  options.resync = parse_duration(resync);
  options.rollout = rollout ? controller::Rollout::WhenOutdated : controller::Rollout::Never;
  options.repair = repair_options();
  options.dry_run = dry_run;
  return options;
}

}  // namespace injector::app
