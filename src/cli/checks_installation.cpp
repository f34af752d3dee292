// The checks of what is installed: Deployment, Service, registration and certificate, rights,
// lease.

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/base64.h"
#include "cli/access_review.h"
#include "cli/check.h"
#include "cli/webhook_match.h"
#include "cli/webhook_registration.h"
#include "kube/time_text.h"

namespace injector::cli {
namespace {

using base::Json;

constexpr const char* kDeployment = "envoy-initializer";
constexpr const char* kService = "envoy-initializer";
constexpr const char* kSecret = "envoy-initializer-tls";
constexpr const char* kApply = "kubectl apply -k manifests/";
const kube::Resource kEndpoints{"", "v1", "endpoints", "Endpoints"};

const Json& empty_list() {
  static const Json kEmpty = Json::array();
  return kEmpty;
}

const Json& list_in(const Json& object, std::string_view member) {
  const Json* list = base::find(object, member);
  return list != nullptr && list->is_array() ? *list : empty_list();
}

long long number_in(const Json& object, std::string_view part, std::string_view member,
                    long long otherwise) {
  const Json* value = base::find(object, part, member);
  return value != nullptr && value->is_number_integer() ? value->get<long long>() : otherwise;
}

// Missing is a failure, unreadable is nothing that we know.
Finding not_found(const base::Error& why, const std::string& what) {
  return why.code == base::ErrorCode::NotFound
             ? Finding{Mark::Failed, what + " does not exist", kApply}
             : not_checked(why);
}

std::string image_of(const Json& deployment) {
  const Json* containers = base::find(deployment, "spec", "template", "spec", "containers");
  return containers == nullptr || !containers->is_array() || containers->empty()
             ? std::string()
             : std::string(base::text_of(base::find(containers->front(), "image")));
}

// "0.2.0" of "example.com:5000/envoy-initializer:0.2.0@sha256:..."; empty where there is no tag.
std::string tag_of(const std::string& image) {
  const std::string name = image.substr(0, image.find('@'));
  const std::size_t colon = name.rfind(':');
  return colon == std::string::npos || name.find('/', colon) != std::string::npos
             ? std::string()
             : name.substr(colon + 1);
}

base::Result<Json> read_registration(const CheckContext& context) {
  return context.cluster.get({kube::kMutatingWebhookConfigurations, "", context.configuration, ""});
}

// A Pod of our own, which must never wait for us.
bool calls_for_own_pods(const Json& webhook, const CheckContext& context) {
  const Json pod = Json({{"metadata",
                          {{"name", "x"},
                           {"namespace", context.name_space},
                           {"annotations", {{context.policy.key, "true"}}},
                           {"labels", {{context.policy.key, "true"}}}}}});
  const auto name_space = context.cluster.get({kube::kNamespaces, "", context.name_space, ""});
  return name_space &&
         would_call(webhook, {pod, context.name_space, &name_space.value()}).called == Called::Yes;
}

bool is_narrow(const Json& webhook, int minor) {
  const Json* selector = base::find(webhook, "objectSelector");
  const bool selects = selector != nullptr && !selector->empty();
  constexpr int kFirstWithConditions = 30;
  const Json* of_namespace = base::find(webhook, "namespaceSelector");
  const bool asks_namespace =
      of_namespace != nullptr && base::to_text(*of_namespace).find("Exists") != std::string::npos;
  return selects || asks_namespace ||
         (minor >= kFirstWithConditions && !list_in(webhook, "matchConditions").empty());
}

// What is wrong with one webhook; of Mark::Good, nothing is.
Finding look_at(const Json& webhook, const CheckContext& context) {
  const std::string name(base::text_of(base::find(webhook, "name")));
  const auto failed = [&](const std::string& text) {
    return Finding{Mark::Failed, name + ": " + text, kApply};
  };
  const std::string_view service =
      base::text_of(base::find(webhook, "clientConfig", "service", "name"));
  if (service != kService || base::text_of(base::find(webhook, "clientConfig", "service",
                                                      "namespace")) != context.name_space) {
    return failed(fmt::format("does not lead to service {}/{}", context.name_space, kService));
  }
  if (!is_for_new_pods(webhook)) {
    return failed("rules: none is for the creation of Pods");
  }
  if (calls_for_own_pods(webhook, context)) {
    return failed(
        fmt::format("namespaceSelector: does not leave out namespace {}: the webhook's "
                    "own Pods would wait for the webhook",
                    context.name_space));
  }
  const std::string_view policy = base::text_of(base::find(webhook, "failurePolicy"));
  if (policy == "Ignore") {
    return {Mark::Warning,
            name +
                ": failurePolicy is Ignore: while no replica answers, Pods start without the "
                "sidecar",
            "manifests/base has Fail; controller --mode repair finds such Pods"};
  }
  const auto minor = minor_version(context.cluster);
  if (minor && !is_narrow(webhook, minor.value())) {
    return {Mark::Warning,
            fmt::format("{}: on Kubernetes 1.{} it is called for every Pod, and no Pod starts "
                        "while no replica answers",
                        name, minor.value()),
            "install with manifests/components/before-1.30 or fail-open"};
  }
  return {};
}

bool worse(const Finding& one, const Finding& other) {
  const auto rank = [](Mark mark) {
    return mark == Mark::Failed ? 2 : mark == Mark::Warning ? 1 : 0;
  };
  return rank(one.mark) > rank(other.mark);
}

// The serving certificate's end; nothing where it cannot be read.
std::optional<tls::SystemTime> end_of_certificate(const Json& secret) {
  const Json* data = base::find(secret, "data");
  const auto pem =
      base::base64_decode(data == nullptr ? "" : base::text_of(base::find(*data, "tls.crt")));
  const auto certificate = pem ? tls::Certificate::parse(*pem)
                               : base::Result<tls::Certificate>(base::invalid("no base64"));
  return certificate ? std::optional(certificate.value().not_after()) : std::nullopt;
}

const std::vector<AccessRight>& rights_of_webhook() {
  static const std::vector<AccessRight> rights = {
      {"get", "", "configmaps", true, "envoy-initializer"},
      {"list", "", "configmaps", true, "envoy-initializer"},
      {"watch", "", "configmaps", true, "envoy-initializer"},
      {"get", "", "configmaps", true, "envoy-initializer-last-good"},
      {"update", "", "configmaps", true, "envoy-initializer-last-good"},
      {"create", "", "configmaps", true},
      {"create", "", "pods", true},
      {"get", "", "secrets", true, kSecret},
      {"update", "", "secrets", true, kSecret},
      {"create", "", "secrets", true},
      {"get", "", "namespaces"},
      {"list", "", "namespaces"},
      {"watch", "", "namespaces"},
      {"create", "", "events"},
      {"patch", "", "events"},
      {"get", "admissionregistration.k8s.io", "mutatingwebhookconfigurations", false,
       "envoy-initializer"},
      {"update", "admissionregistration.k8s.io", "mutatingwebhookconfigurations", false,
       "envoy-initializer"},
      {"get", "admissionregistration.k8s.io", "validatingwebhookconfigurations", false,
       "envoy-initializer"},
      {"update", "admissionregistration.k8s.io", "validatingwebhookconfigurations", false,
       "envoy-initializer"}};
  return rights;
}

bool manages_certificates(const CheckContext& context) {
  const auto deployment =
      context.cluster.get({kube::kDeployments, context.name_space, kDeployment, ""});
  return !deployment ||
         base::to_text(deployment.value()).find("--manage-certs") != std::string::npos;
}

std::vector<AccessRight> rights_in_use(const CheckContext& context) {
  std::vector<AccessRight> rights = rights_of_webhook();
  if (!manages_certificates(context)) {
    std::erase_if(rights, [](const AccessRight& right) {
      return right.resource == "secrets" || right.group == "admissionregistration.k8s.io";
    });
  }
  return rights;
}

// A controller's Deployments, by the command in their arguments.
std::vector<std::string> controllers_in(const std::vector<Json>& deployments) {
  std::vector<std::string> names;
  for (const Json& deployment : deployments) {
    const std::string text = base::to_text(deployment);
    if (text.find("\"controller\"") != std::string::npos ||
        text.find("\"initializer\"") != std::string::npos) {
      names.emplace_back(base::text_of(base::find(deployment, "metadata", "name")));
    }
  }
  return names;
}

bool is_alive(const Json& lease, tls::SystemTime now) {
  const auto renewed = kube::parse_time(base::text_of(base::find(lease, "spec", "renewTime")));
  const auto duration = std::chrono::seconds(number_in(lease, "spec", "leaseDurationSeconds", 15));
  return renewed && !base::text_of(base::find(lease, "spec", "holderIdentity")).empty() &&
         now < *renewed + 2 * duration;
}

}  // namespace

Finding check_deployment(const CheckContext& context) {
  const auto found = context.cluster.get({kube::kDeployments, context.name_space, kDeployment, ""});
  if (!found) {
    return not_found(found.error(),
                     fmt::format("deployment {}/{}", context.name_space, kDeployment));
  }
  const long long wanted = number_in(found.value(), "spec", "replicas", 1);
  const long long ready = number_in(found.value(), "status", "readyReplicas", 0);
  if (ready < wanted || wanted == 0) {
    return {Mark::Failed, fmt::format("{} of {} replicas are ready", ready, wanted),
            fmt::format("kubectl -n {} logs deployment/{}", context.name_space, kDeployment)};
  }
  const std::string tag = tag_of(image_of(found.value()));
  if (tag != context.version) {
    return {Mark::Warning,
            fmt::format("{} of {} replicas are ready, of image {}; this program is {}", ready,
                        wanted, image_of(found.value()), context.version),
            "use the program of the cluster's version, or upgrade the cluster"};
  }
  return {Mark::Good,
          fmt::format("{} of {} replicas are ready, of version {}", ready, wanted, tag),
          {}};
}

Finding check_service(const CheckContext& context) {
  const auto found = context.cluster.get({kEndpoints, context.name_space, kService, ""});
  if (!found) {
    return not_found(found.error(), fmt::format("service {}/{}", context.name_space, kService));
  }
  std::size_t ready = 0;
  for (const Json& subset : list_in(found.value(), "subsets")) {
    ready += list_in(subset, "addresses").size();
  }
  if (ready == 0) {
    return {
        Mark::Failed,
        fmt::format("service {}/{} has no endpoint that is ready", context.name_space, kService),
        fmt::format("kubectl -n {} get pods --show-labels", context.name_space)};
  }
  return {Mark::Good,
          fmt::format("the Service has {} ready endpoint{}", ready, ready == 1 ? "" : "s"),
          {}};
}

Finding check_registration(const CheckContext& context) {
  const auto found = read_registration(context);
  if (!found) {
    return not_found(found.error(),
                     fmt::format("mutatingwebhookconfiguration {}", context.configuration));
  }
  const Json& webhooks = list_in(found.value(), "webhooks");
  if (webhooks.empty()) {
    return {Mark::Failed,
            fmt::format("mutatingwebhookconfiguration {} has no webhook", context.configuration),
            kApply};
  }
  Finding worst{Mark::Good,
                fmt::format("{} webhook{} for new Pods, and none for our own", webhooks.size(),
                            webhooks.size() == 1 ? "" : "s"),
                {}};
  for (const Json& webhook : webhooks) {
    if (Finding finding = look_at(webhook, context); worse(finding, worst)) {
      worst = std::move(finding);
    }
  }
  return worst;
}

Finding check_certificate(const CheckContext& context) {
  const auto found = read_registration(context);
  if (!found) {
    return not_checked(found.error());
  }
  const auto secret = context.cluster.get({kube::kSecrets, context.name_space, kSecret, ""});
  std::string summary = "no webhook is registered";
  for (const Json& webhook : list_in(found.value(), "webhooks")) {
    const Json* client_config = base::find(webhook, "clientConfig");
    const BundleVerdict verdict = judge_bundle(client_config == nullptr ? Json() : *client_config,
                                               secret ? secret.value() : Json(),
                                               secret ? "" : secret.error().message, context.now);
    summary = "caBundle: " + verdict.text;
    if (!verdict.trusted) {
      return {Mark::Failed,
              fmt::format("{}: {}", base::text_of(base::find(webhook, "name")), summary),
              "let --manage-certs write the caBundle, or put the CA that signed the certificate "
              "there"};
    }
  }
  const auto end = secret ? end_of_certificate(secret.value()) : std::nullopt;
  if (!end) {
    return {Mark::Good, summary, {}};
  }
  const auto days = std::chrono::duration_cast<std::chrono::hours>(*end - context.now).count() / 24;
  constexpr int kSoon = 7;
  return {days < kSoon ? Mark::Warning : Mark::Good,
          fmt::format("{}, and holds until {}", summary, kube::time_text(*end)),
          days < kSoon ? "it should have been renewed: look at the webhook's log" : ""};
}

Finding check_rights(const CheckContext& context) {
  const std::string user =
      fmt::format("system:serviceaccount:{}:{}", context.name_space, "envoy-initializer");
  const auto rights = rights_in_use(context);
  const auto missing = missing_rights(context.cluster, rights, user, context.name_space);
  if (!missing) {
    return not_checked(missing.error());
  }
  if (!missing.value().empty()) {
    return {
        Mark::Failed,
        fmt::format("the webhook's ServiceAccount may not {}", fmt::join(missing.value(), ", ")),
        kApply};
  }
  return {Mark::Good,
          fmt::format("the webhook's ServiceAccount has all {} rights that it uses", rights.size()),
          {}};
}

Finding check_controller(const CheckContext& context) {
  const auto deployments = context.cluster.list({kube::kDeployments, context.name_space, "", ""});
  if (!deployments) {
    return not_checked(deployments.error());
  }
  const auto controllers = controllers_in(deployments.value());
  for (const std::string& name : controllers) {
    // The Deployments of manifests/ are called as their leases are.
    const auto lease = context.cluster.get({kube::kLeases, context.name_space, name, ""});
    if (!lease && lease.error().code != base::ErrorCode::NotFound) {
      return not_checked(lease.error());
    }
    if (!lease || !is_alive(lease.value(), context.now)) {
      return {Mark::Failed,
              lease ? fmt::format("nobody renews lease {}/{}", context.name_space, name)
                    : fmt::format("lease {}/{} does not exist", context.name_space, name),
              fmt::format("kubectl -n {} logs deployment/{}", context.name_space, name)};
    }
  }
  if (controllers.empty()) {
    return {Mark::Skipped, "no controller is installed", {}};
  }
  return {Mark::Good, fmt::format("leads: {}", fmt::join(controllers, ", ")), {}};
}

}  // namespace injector::cli
