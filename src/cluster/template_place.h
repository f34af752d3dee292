// Where a cluster keeps its template, and how a command line names that place.
//
// May be called from any thread.

#pragma once

#include <optional>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "cluster/running_informer.h"
#include "core/template_set.h"
#include "kube/rest_client.h"
#include "template/parser.h"

namespace injector::cluster {

/// Where the manifests and the webhook keep the cluster's template.
inline constexpr const char* kTemplateConfigMap = "envoy-initializer/envoy-initializer";

/// "ns/name"; a bare name is in `default_namespace`.
[[nodiscard]] base::Result<ObjectName> parse_object_name(const std::string& text,
                                                         const std::string& default_namespace);

/// The templates in the ConfigMap `name` ("[NS/]NAME"), read once.
[[nodiscard]] base::Result<core::TemplateSet> fetch_templates(
    kube::RestClient& client, const std::string& name, const templates::TemplateOptions& options,
    core::NativeSidecars native);

/// The ConfigMap that `name` ("[NS/]NAME") means; with an empty name kTemplateConfigMap if the
/// cluster has it, and nothing where it has none. Asks the server once. An Error: the server's
/// words, and for Forbidden the way out.
[[nodiscard]] base::Result<std::optional<ObjectName>> find_template_config_map(
    kube::RestClient& client, const std::string& name, const std::stop_token& stop);

/// Adds to a refusal how to do without the right to read the ConfigMap.
[[nodiscard]] base::Error with_way_out(base::Error error);

}  // namespace injector::cluster
