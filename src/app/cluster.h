// What the commands that talk to a cluster have in common: flags, a client, informers on threads.

#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include <CLI/CLI.hpp>

#include "base/clock.h"
#include "base/result.h"
#include "cluster/namespace_cache.h"
#include "cluster/running_informer.h"
#include "cluster/template_place.h"
#include "core/template.h"
#include "kube/config.h"
#include "kube/rest_client.h"
#include "template/parser.h"

namespace injector::app {

/// --kubeconfig, --context, --master, with kubectl's loading rules.
struct ClusterFlags {
  kube::ConfigOptions options;

  void add_to(CLI::App& command);

  /// Whether the cluster is the one whose Pod this process runs in, by its service account.
  [[nodiscard]] bool of_our_pod() const;

  /// A client of that cluster.
  [[nodiscard]] base::Result<std::unique_ptr<kube::RestClient>> connect(
      kube::RestOptions rest) const;
  /// For a command that somebody waits for: answers and failures come soon.
  [[nodiscard]] base::Result<std::unique_ptr<kube::RestClient>> connect_for_command() const;
  /// With the usual limits. `metrics` may be null; not owned, outlives the client.
  [[nodiscard]] base::Result<std::unique_ptr<kube::RestClient>> connect(
      prometheus::Registry* metrics) const;
};

/// Of --config, for the commands that take the cluster's template without it.
inline constexpr const char* kClusterTemplateHelp =
    "The template, or the ConfigMap that holds it [default: the cluster's; where it has none, the "
    "built-in Envoy]";

using cluster::find_template_config_map;
using cluster::kTemplateConfigMap;
using cluster::parse_object_name;

}  // namespace injector::app
