// The checks of what Pods get: templates, a Pod in a dry run, who comes after us, Pods that run.

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/json_text.h"
#include "cli/check.h"
#include "cli/status_report.h"
#include "cli/webhook_match.h"
#include "cluster/last_good_template.h"
#include "cluster/template_place.h"
#include "template/parser.h"

namespace injector::cli {
namespace {

using base::Json;

constexpr const char* kConfigMap = "envoy-initializer";
const kube::Resource kSidecarTemplates{"envoy-initializer.io", "v1alpha1", "sidecartemplates",
                                       "SidecarTemplate"};

base::Result<core::Template> template_in(const CheckContext& context, const std::string& name) {
  INJ_ASSIGN(const auto object,
             context.cluster.get({kube::kConfigMaps, context.name_space, name, ""}));
  return templates::parse_template(base::write_json(object), "configmap " + name, {});
}

// What the webhook serves: the ConfigMap's content, else the last good one, else the built-in.
core::Template template_in_service(const CheckContext& context) {
  for (const std::string& name :
       {std::string(kConfigMap), std::string(kConfigMap) + cluster::kLastGoodSuffix}) {
    if (auto tpl = template_in(context, name)) {
      return std::move(tpl).value();
    }
  }
  return templates::default_template();
}

// "shop/proxy: why", for one that is not accepted.
std::string refusal_of(const Json& sidecar_template) {
  const Json* conditions = base::find(sidecar_template, "status", "conditions");
  for (const Json& condition :
       conditions != nullptr && conditions->is_array() ? *conditions : Json::array()) {
    if (base::text_of(base::find(condition, "type")) == "Accepted" &&
        base::text_of(base::find(condition, "status")) == "False") {
      return fmt::format("sidecartemplate {}/{}: {}",
                         base::text_of(base::find(sidecar_template, "metadata", "namespace")),
                         base::text_of(base::find(sidecar_template, "metadata", "name")),
                         base::text_of(base::find(condition, "message")));
    }
  }
  return {};
}

std::vector<std::string> refused_templates(ClusterView& cluster) {
  std::vector<std::string> refused;
  const auto listed = cluster.list({kSidecarTemplates, "", "", ""});
  for (const Json& object : listed ? listed.value() : std::vector<Json>()) {
    if (std::string refusal = refusal_of(object); !refusal.empty()) {
      refused.push_back(std::move(refusal));
    }
  }
  return refused;
}

Json asking_pod(const CheckContext& context) {
  Json pod = Json({{"apiVersion", "v1"}, {"kind", "Pod"}});
  pod["metadata"] = Json({{"generateName", "envoy-initializer-check-"},
                          {"namespace", context.probe_namespace},
                          {"annotations", {{context.policy.key, "true"}}},
                          {"labels", {{context.policy.key, "true"}}}});
  pod["spec"] =
      Json({{"containers",
             Json::array({Json({{"name", "app"},
                                {"image", "app"},
                                {"securityContext",
                                 {{"allowPrivilegeEscalation", false},
                                  {"runAsNonRoot", true},
                                  {"seccompProfile", {{"type", "RuntimeDefault"}}},
                                  {"capabilities", {{"drop", Json::array({"ALL"})}}}}}})})}});
  return pod;
}

std::string name_of(const Json& object) {
  return std::string(base::text_of(base::find(object, "metadata", "name")));
}

const Json& webhooks_of(const Json& configuration) {
  static const Json kEmpty = Json::array();
  const Json* list = base::find(configuration, "webhooks");
  return list != nullptr && list->is_array() ? *list : kEmpty;
}

bool comes_back(const Json& configuration) {
  const Json& webhooks = webhooks_of(configuration);
  return std::all_of(webhooks.begin(), webhooks.end(), [](const Json& webhook) {
    return base::text_of(base::find(webhook, "reinvocationPolicy")) == "IfNeeded";
  });
}

StatusReport report_on_pods(const std::vector<Json>& pods, const std::vector<Json>& namespaces,
                            const CheckContext& context) {
  std::map<std::string, core::MetaFacts> facts;
  for (const Json& one : namespaces) {
    facts[name_of(one)] = core::meta_facts(one);
  }
  const core::TemplateSet templates = template_in_service(context);
  StatusReport report;
  for (const Json& pod : pods) {
    const auto found =
        facts.find(std::string(base::text_of(base::find(pod, "metadata", "namespace"))));
    add_pod(pod, found == facts.end() ? nullptr : &found->second, templates, context.policy,
            report);
  }
  return report;
}

}  // namespace

Finding check_templates(const CheckContext& context) {
  if (const auto refused = refused_templates(context.cluster); !refused.empty()) {
    return {Mark::Failed, fmt::format("{}", fmt::join(refused, "; ")),
            "envoy-initializer lint says it before it is applied"};
  }
  const auto tpl = template_in(context, kConfigMap);
  if (!tpl && tpl.error().code == base::ErrorCode::NotFound) {
    return {
        Mark::Good, "the built-in template serves: there is no configmap envoy-initializer", {}};
  }
  if (!tpl) {
    const bool unreadable = tpl.error().code != base::ErrorCode::InvalidInput;
    return unreadable ? not_checked(tpl.error())
                      : Finding{Mark::Failed, tpl.error().message,
                                "the last good template serves until this one can be used"};
  }
  const auto kept = template_in(context, std::string(kConfigMap) + cluster::kLastGoodSuffix);
  if (kept && kept.value().hash != tpl.value().hash) {
    return {Mark::Warning,
            fmt::format("the template in use is {}, not that of the ConfigMap, {}",
                        kept.value().hash, tpl.value().hash),
            "it is on its way, or was refused: see /readyz?verbose of the webhook"};
  }
  return {Mark::Good, fmt::format("the ConfigMap's template is in use: {}", tpl.value().hash), {}};
}

Finding check_injection(const CheckContext& context) {
  const auto tried =
      context.cluster.dry_run({kube::kPods, context.probe_namespace, "", ""}, asking_pod(context));
  if (!tried) {
    const bool no_right =
        tried.error().message.find("cannot create resource \"pods\"") != std::string::npos;
    return no_right ? not_checked(tried.error())
                    : Finding{Mark::Failed, tried.error().message,
                              "the API server must reach port 8443 of the webhook's Pods"};
  }
  const Json* annotations = base::find(tried.value(), "metadata", "annotations");
  const Json* status =
      annotations == nullptr ? nullptr : base::find(*annotations, context.policy.status_key());
  if (status == nullptr) {
    return {Mark::Failed,
            fmt::format("a Pod that asks, in namespace {}, comes back without the sidecar",
                        context.probe_namespace),
            fmt::format("see the checks above; envoy-initializer explain says it for a Pod that "
                        "exists")};
  }
  return {Mark::Good,
          fmt::format("a Pod that asks, in namespace {}, comes back with the sidecar",
                      context.probe_namespace),
          {}};
}

Finding check_other_webhooks(const CheckContext& context) {
  const auto listed = context.cluster.list({kube::kMutatingWebhookConfigurations, "", "", ""});
  if (!listed) {
    return not_checked(listed.error());
  }
  // The server calls them in the order of their configurations' names.
  std::vector<std::string> later;
  bool called_again = true;
  for (const Json& configuration : listed.value()) {
    const Json& webhooks = webhooks_of(configuration);
    if (name_of(configuration) == context.configuration) {
      called_again = comes_back(configuration);
    } else if (name_of(configuration) > context.configuration &&
               std::any_of(webhooks.begin(), webhooks.end(), is_for_new_pods)) {
      later.push_back(name_of(configuration));
    }
  }
  if (later.empty()) {
    return {Mark::Good, "no other webhook changes Pods after ours", {}};
  }
  if (!called_again) {
    return {Mark::Warning, fmt::format("may add containers after us: {}", fmt::join(later, ", ")),
            "reinvocationPolicy: IfNeeded on our webhooks has the API server call us again"};
  }
  return {Mark::Good,
          fmt::format("come after us: {}; we are called again (reinvocationPolicy)",
                      fmt::join(later, ", ")),
          {}};
}

Finding check_pods(const CheckContext& context) {
  const auto pods = context.cluster.list({kube::kPods, "", "", ""});
  if (!pods) {
    return not_checked(pods.error());
  }
  const auto namespaces = context.cluster.list({kube::kNamespaces, "", "", ""});
  const StatusReport report =
      report_on_pods(pods.value(), namespaces ? namespaces.value() : std::vector<Json>(), context);
  const int missing = report.count(core::PodState::Missing);
  const int outdated = report.count(core::PodState::Outdated);
  const int injected = report.count(core::PodState::Injected);
  const std::string text =
      fmt::format("of {} Pods that ask, {} run without the sidecar and {} with an outdated one",
                  missing + outdated + injected, missing, outdated);
  if (missing == 0 && outdated == 0) {
    return {Mark::Good, text, {}};
  }
  return {missing > 0 ? Mark::Failed : Mark::Warning, text,
          "envoy-initializer status -A names them; restart their workloads"};
}

const std::vector<Check>& checks_of_installation() {
  static const std::vector<Check> checks = {{"api", check_api},
                                            {"deployment", check_deployment},
                                            {"service", check_service},
                                            {"registration", check_registration},
                                            {"certificate", check_certificate},
                                            {"templates", check_templates},
                                            {"rights", check_rights},
                                            {"injection", check_injection},
                                            {"other-webhooks", check_other_webhooks},
                                            {"pods", check_pods},
                                            {"controller", check_controller}};
  return checks;
}

}  // namespace injector::cli
