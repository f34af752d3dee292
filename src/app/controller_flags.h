// The flags of the command controller.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/cluster.h"
#include "app/command_line.h"
#include "controller/mode.h"
#include "controller/term.h"
#include "core/policy.h"
#include "template/parser.h"

namespace injector::app {

/// Of our Lease, our Events, our fields, our webhook configuration.
inline constexpr const char* kOurName = "envoy-initializer";

struct ControllerFlags {
  std::string mode = "auto";
  std::string initializer_name = "envoy.initializer.kubernetes.io";
  bool require_annotation = true;
  std::vector<std::string> repair{"report"};
  double evict_per_minute = 6;
  std::vector<std::string> config;
  std::string config_map;
  std::vector<std::string> resources{"deployments", "statefulsets", "daemonsets", "cronjobs"};
  std::size_t workers = 2;
  std::string resync = "30s";
  // As kubelet and kube-scheduler have it. A waiting Pod costs one PATCH, so in initializer mode
  // this is how many Pods a second the whole cluster can start.
  double qps = 50;
  int burst = 100;
  bool leader_elect = false;
  std::string lease_namespace;
  bool rollout = false;
  bool dry_run = false;
  bool once = false;
  std::string admin_listen = ":8080";
  templates::TemplateOptions template_options;
  ClusterFlags cluster;
  PolicyFlags policy_flags;
  LogFlags log;

  void add_to(CLI::App& command);

  [[nodiscard]] core::Policy policy() const;

  [[nodiscard]] controller::ModeRequest mode_request() const;
  /// But for our own namespace, which is not only said by flags.
  [[nodiscard]] controller::TermOptions term_options() const;

 private:
  [[nodiscard]] controller::RepairOptions repair_options() const;
  void add_what(CLI::App& command);
  void add_pods(CLI::App& command);
  void add_how(CLI::App& command);
};

}  // namespace injector::app
