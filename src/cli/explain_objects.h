// explain OBJECT: reads the objects and how our webhook is registered, and reports on each.

#pragma once

#include <string>
#include <vector>

#include "cli/cluster_template.h"
#include "cli/explain_command.h"
#include "cli/streams.h"
#include "core/policy.h"
#include "kube/rest_client.h"
#include "tls/certificate.h"

namespace injector::cli {

struct ExplainObjectsOptions {
  std::vector<std::string> objects;  // "deployment/web", of the client's namespace.
  std::string selector;              // Instead of objects: the Pods with these labels.
  ListView view;
  std::string webhook_configuration = "envoy-initializer";
  core::Policy policy;
};

/// An object that cannot be read does not hide the others, and makes the exit code that of a
/// failure.
[[nodiscard]] int run_explain_objects(const ExplainObjectsOptions& options, FoundTemplate found,
                                      kube::RestClient& client, tls::SystemTime now,
                                      const Streams& streams);

}  // namespace injector::cli
