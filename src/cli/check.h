// A check: one question about a cluster, what the answer means, and what to do about it. Each is a
// row of a table and a function over what it reads; docs/checks.md has a paragraph for each.

#pragma once

#include <string>
#include <vector>

#include "cli/cluster_view.h"
#include "core/policy.h"
#include "tls/certificate.h"

namespace injector::cli {

enum class Mark {
  Good,
  Warning,  // Works, but somebody should know.
  Failed,
  Skipped,  // Could not be checked.
};

[[nodiscard]] std::string_view to_string(Mark mark) noexcept;  // "ok", "warning", ...

struct Finding {
  Mark mark = Mark::Good;
  std::string text;
  std::string hint;  // What to do; empty: nothing.
};

/// What is looked at, and with which eyes.
struct CheckContext {
  ClusterView& cluster;                             // Not owned.
  std::string name_space = "envoy-initializer";     // Of the installation.
  std::string configuration = "envoy-initializer";  // The MutatingWebhookConfiguration.
  std::string probe_namespace = "default";          // Of the Pod that is tried.
  std::string version;                              // Of this program: "0.2.0".
  core::Policy policy;
  tls::SystemTime now;
};

struct Check {
  const char* id;  // The heading in docs/checks.md.
  Finding (*run)(const CheckContext& context);
};

/// In the order in which they are run. The first is whether the server answers.
[[nodiscard]] const std::vector<Check>& checks_before_installing();
[[nodiscard]] const std::vector<Check>& checks_of_installation();

// The checks themselves, by id.
[[nodiscard]] Finding check_api(const CheckContext& context);
[[nodiscard]] Finding check_version(const CheckContext& context);
[[nodiscard]] Finding check_match_conditions(const CheckContext& context);
[[nodiscard]] Finding check_install_rights(const CheckContext& context);
[[nodiscard]] Finding check_conflicts(const CheckContext& context);
[[nodiscard]] Finding check_pod_security(const CheckContext& context);

[[nodiscard]] Finding check_deployment(const CheckContext& context);
[[nodiscard]] Finding check_service(const CheckContext& context);
[[nodiscard]] Finding check_registration(const CheckContext& context);
[[nodiscard]] Finding check_certificate(const CheckContext& context);
[[nodiscard]] Finding check_templates(const CheckContext& context);
[[nodiscard]] Finding check_rights(const CheckContext& context);
[[nodiscard]] Finding check_injection(const CheckContext& context);
[[nodiscard]] Finding check_other_webhooks(const CheckContext& context);
[[nodiscard]] Finding check_pods(const CheckContext& context);
[[nodiscard]] Finding check_controller(const CheckContext& context);

/// The server's minor version, of major 1; an Error where it does not answer or says nonsense.
[[nodiscard]] base::Result<int> minor_version(ClusterView& cluster);

/// For a check that needs an answer and did not get one.
[[nodiscard]] Finding not_checked(const base::Error& why);

}  // namespace injector::cli
