// The checks of a cluster that nothing is installed in yet.

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "cli/access_review.h"
#include "cli/check.h"

namespace injector::cli {
namespace {

using base::Json;

constexpr int kFirstWithWebhooks = 16;
constexpr int kFirstWithConditions = 30;

const std::vector<AccessRight>& rights_to_install() {
  static const std::vector<AccessRight> rights = {
      {"create", "", "namespaces"},
      {"create", "", "serviceaccounts", true},
      {"create", "", "services", true},
      {"create", "", "configmaps", true},
      {"create", "apps", "deployments", true},
      {"create", "policy", "poddisruptionbudgets", true},
      {"create", "scheduling.k8s.io", "priorityclasses"},
      {"create", "rbac.authorization.k8s.io", "roles", true},
      {"create", "rbac.authorization.k8s.io", "rolebindings", true},
      {"create", "rbac.authorization.k8s.io", "clusterroles"},
      {"create", "rbac.authorization.k8s.io", "clusterrolebindings"},
      {"create", "admissionregistration.k8s.io", "mutatingwebhookconfigurations"},
      {"create", "admissionregistration.k8s.io", "validatingwebhookconfigurations"}};
  return rights;
}

// Objects of the newest version that the server has; none where it has no such kind.
std::vector<Json> mutating_policies(ClusterView& cluster) {
  for (const char* version : {"v1", "v1beta1", "v1alpha1"}) {
    auto listed = cluster.list({{"admissionregistration.k8s.io", version,
                                 "mutatingadmissionpolicies", "MutatingAdmissionPolicy", false},
                                "",
                                "",
                                ""});
    if (listed) {
      return std::move(listed).value();
    }
  }
  return {};
}

std::string name_of(const Json& object) {
  return std::string(base::text_of(base::find(object, "metadata", "name")));
}

// Whether what decides about a webhook's or a policy's Pods names our key.
bool names_key(const Json& entry, const std::string& key) {
  Json selecting = Json::object();
  for (const char* member : {"namespaceSelector", "objectSelector", "matchConditions", "spec"}) {
    if (const Json* value = base::find(entry, member)) {
      selecting[member] = *value;
    }
  }
  return base::to_text(selecting).find(key) != std::string::npos;
}

bool leads_elsewhere(const Json& webhook, const std::string& name_space) {
  return base::text_of(base::find(webhook, "clientConfig", "service", "namespace")) != name_space;
}

std::vector<std::string> conflicting_webhooks(const std::vector<Json>& configurations,
                                              const CheckContext& context) {
  std::vector<std::string> names;
  for (const Json& configuration : configurations) {
    const bool of_our_name = name_of(configuration) == context.configuration;
    const Json* webhooks = base::find(configuration, "webhooks");
    for (const Json& webhook :
         webhooks != nullptr && webhooks->is_array() ? *webhooks : Json::array()) {
      const bool elsewhere = leads_elsewhere(webhook, context.name_space);
      if (elsewhere && (of_our_name || names_key(webhook, context.policy.key))) {
        names.push_back(fmt::format("webhook {}/{}", name_of(configuration),
                                    base::text_of(base::find(webhook, "name"))));
      }
    }
  }
  return names;
}

// As our Deployment's Pods are.
Json restricted_pod() {
  return Json(
      {{"apiVersion", "v1"},
       {"kind", "Pod"},
       {"metadata", {{"generateName", "envoy-initializer-check-"}}},
       {"spec",
        {{"securityContext",
          {{"runAsNonRoot", true},
           {"runAsUser", 65532},
           {"seccompProfile", {{"type", "RuntimeDefault"}}}}},
         {"containers",
          Json::array({Json({{"name", "webhook"},
                             {"image", "envoy-initializer"},
                             {"resources", {{"requests", {{"cpu", "50m"}, {"memory", "32Mi"}}}}},
                             {"securityContext",
                              {{"allowPrivilegeEscalation", false},
                               {"readOnlyRootFilesystem", true},
                               {"capabilities", {{"drop", Json::array({"ALL"})}}}}}})})}}}});
}

}  // namespace

std::string_view to_string(Mark mark) noexcept {
  switch (mark) {
    case Mark::Good:
      return "ok";
    case Mark::Warning:
      return "warning";
    case Mark::Failed:
      return "failed";
    case Mark::Skipped:
      break;
  }
  return "skipped";
}

Finding not_checked(const base::Error& why) {
  return {Mark::Skipped, "not checked: " + why.message, {}};
}

base::Result<int> minor_version(ClusterView& cluster) {
  INJ_ASSIGN(const auto version, cluster.version());
  // "30", or "30+" where somebody builds their own.
  const std::string_view text = base::text_of(base::find(version, "minor"));
  int minor = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), minor);
  if (problem != std::errc() || base::text_of(base::find(version, "major")) != "1") {
    return base::invalid("the API server's version makes no sense: " + base::to_text(version));
  }
  return minor;
}

Finding check_api(const CheckContext& context) {
  const auto version = context.cluster.version();
  if (!version) {
    return {Mark::Failed, version.error().message,
            "check --kubeconfig and --context: kubectl version must answer as well"};
  }
  return {Mark::Good,
          fmt::format("the API server answers: {}",
                      base::text_of(base::find(version.value(), "gitVersion"))),
          {}};
}

Finding check_version(const CheckContext& context) {
  const auto minor = minor_version(context.cluster);
  if (!minor) {
    return not_checked(minor.error());
  }
  if (minor.value() < kFirstWithWebhooks) {
    return {
        Mark::Failed,
        fmt::format("Kubernetes 1.{} is too old for the webhook, which needs 1.16", minor.value()),
        "from 1.9 to 1.13, use manifests/initializer"};
  }
  return {Mark::Good, fmt::format("Kubernetes 1.{} has what the webhook needs", minor.value()), {}};
}

Finding check_match_conditions(const CheckContext& context) {
  const auto minor = minor_version(context.cluster);
  if (!minor) {
    return not_checked(minor.error());
  }
  if (minor.value() < kFirstWithConditions) {
    return {Mark::Warning,
            fmt::format("Kubernetes 1.{} has no matchConditions: the webhook would be called for "
                        "every Pod",
                        minor.value()),
            "install with manifests/components/before-1.30"};
  }
  return {
      Mark::Good, "matchConditions: the API server calls the webhook only for Pods that ask", {}};
}

Finding check_install_rights(const CheckContext& context) {
  const auto missing = missing_rights(context.cluster, rights_to_install(), "", context.name_space);
  if (!missing) {
    return not_checked(missing.error());
  }
  if (!missing.value().empty()) {
    return {Mark::Failed, fmt::format("you may not {}", fmt::join(missing.value(), ", ")),
            "have somebody install it who may, or ask for these rights"};
  }
  return {Mark::Good, "you may create everything that manifests/ holds", {}};
}

Finding check_conflicts(const CheckContext& context) {
  const auto configurations =
      context.cluster.list({kube::kMutatingWebhookConfigurations, "", "", ""});
  if (!configurations) {
    return not_checked(configurations.error());
  }
  const auto webhooks = conflicting_webhooks(configurations.value(), context);
  if (!webhooks.empty()) {
    return {Mark::Failed,
            fmt::format("acts on {} as well: {}", context.policy.key, fmt::join(webhooks, ", ")),
            "remove it, or use another key: --annotation"};
  }
  for (const Json& policy : mutating_policies(context.cluster)) {
    if (names_key(policy, context.policy.key)) {
      return {Mark::Warning,
              fmt::format("MutatingAdmissionPolicy {} acts on {} as well", name_of(policy),
                          context.policy.key),
              "one of the two is enough: which template a Pod gets is a matter of order"};
    }
  }
  return {Mark::Good, fmt::format("nobody else acts on {}", context.policy.key), {}};
}

Finding check_pod_security(const CheckContext& context) {
  const auto name_space = context.cluster.get({kube::kNamespaces, "", context.name_space, ""});
  if (!name_space) {
    return name_space.error().code == base::ErrorCode::NotFound
               ? Finding{Mark::Good,
                         fmt::format("namespace {} does not exist yet", context.name_space),
                         {}}
               : not_checked(name_space.error());
  }
  const auto tried =
      context.cluster.dry_run({kube::kPods, context.name_space, "", ""}, restricted_pod());
  if (tried) {
    return {
        Mark::Good,
        fmt::format("namespace {} admits Pods that are restricted as ours are", context.name_space),
        {}};
  }
  const bool no_right =
      tried.error().message.find("cannot create resource \"pods\"") != std::string::npos;
  if (no_right) {
    return not_checked(tried.error());
  }
  return {Mark::Failed,
          fmt::format("namespace {} does not admit our Pods: {}", context.name_space,
                      tried.error().message),
          "they meet the restricted standard: look at the namespace's labels, policies and quotas"};
}

const std::vector<Check>& checks_before_installing() {
  static const std::vector<Check> checks = {{"api", check_api},
                                            {"version", check_version},
                                            {"match-conditions", check_match_conditions},
                                            {"install-rights", check_install_rights},
                                            {"conflicts", check_conflicts},
                                            {"pod-security", check_pod_security}};
  return checks;
}

}  // namespace injector::cli
