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

/// "ns/name"; a bare name is in `default_namespace`.
[[nodiscard]] base::Result<cluster::ObjectName> parse_object_name(
    const std::string& text, const std::string& default_namespace);

/// The template in the ConfigMap `name` ("[NS/]NAME"), read once.
[[nodiscard]] base::Result<core::Template> fetch_template(
    kube::RestClient& client, const std::string& name, const templates::TemplateOptions& options);

/// Where the manifests and the webhook keep the cluster's template.
inline constexpr const char* kTemplateConfigMap = "envoy-initializer/envoy-initializer";

/// How long a command waits for one answer.
inline constexpr base::Duration kCommandPatience = std::chrono::seconds(15);

/// Of --config, for the commands that take the cluster's template without it.
inline constexpr const char* kClusterTemplateHelp =
    "The template, or the ConfigMap that holds it [default: the cluster's; where it has none, the "
    "built-in Envoy]";

/// The ConfigMap that `name` ("[NS/]NAME") means; with an empty name kTemplateConfigMap if the
/// cluster has it, and nothing where it has none. Asks the server once. An Error: the server's
/// words, and for Forbidden the way out.
[[nodiscard]] base::Result<std::optional<cluster::ObjectName>> find_template_config_map(
    kube::RestClient& client, const std::string& name, const std::stop_token& stop);

/// A template, and what a person should know about where it came from.
struct FoundTemplate {
  core::Template tpl;
  std::string source;   // "configmap ns/name", "file envoy.yaml", "built-in template".
  std::string note;     // Why it is not the one that was looked for first; empty: it is.
  bool certain = true;  // False: the cluster's own may not be read, so this one may be another.

  /// "configmap ns/name (sha256:...)", and the note.
  [[nodiscard]] std::string describe() const;
};

/// What the command line says about the template. At most one of the two is set.
struct TemplateChoice {
  std::string file{};        // --config
  std::string config_map{};  // --configmap
  templates::TemplateOptions options{};
};

/// The template that the cluster uses, for commands that read it once: the one given, else the one
/// in kTemplateConfigMap, else the built-in. Of a ConfigMap that cannot be used, the last good
/// content, as the webhook does it. An Error: it cannot be read or used, or the server
/// does not answer. A ConfigMap that may not be read is no Error unless it was asked for by name.
[[nodiscard]] base::Result<FoundTemplate> find_template(kube::RestClient& client,
                                                        const TemplateChoice& choice,
                                                        const std::stop_token& stop);

}  // namespace injector::app
