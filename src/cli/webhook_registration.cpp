#include "cli/webhook_registration.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/base64.h"
#include "kube/resource.h"

namespace injector::cli {
namespace {

using base::Json;

constexpr const char* kSecret = "envoy-initializer-tls";

// PEM of a base64 member; empty where there is none.
std::string pem_of(const Json& object, std::string_view member) {
  const auto decoded = base::base64_decode(base::text_of(base::find(object, member)));
  return decoded ? *decoded : std::string();
}

bool valid_now(const tls::Certificate& certificate, tls::SystemTime now) {
  return certificate.not_before() <= now && now < certificate.not_after();
}

BundleVerdict compare(const std::vector<tls::Certificate>& bundle, const tls::Certificate& serving,
                      tls::SystemTime now) {
  const bool signed_by_us =
      std::any_of(bundle.begin(), bundle.end(), [&](const tls::Certificate& authority) {
        return serving.issued_by(authority) ||
               serving.fingerprint() == authority.fingerprint();  // Self-signed.
      });
  if (!signed_by_us) {
    return {fmt::format("did not sign the certificate in secret {}", kSecret), false};
  }
  if (!valid_now(serving, now)) {
    return {fmt::format("signed the certificate in secret {}, which is not valid now", kSecret),
            false};
  }
  return {fmt::format("signed the certificate in secret {}", kSecret), true};
}

std::string service_namespace(const Json& webhook) {
  return std::string(base::text_of(base::find(webhook, "clientConfig", "service", "namespace")));
}

struct SecretFound {
  Json secret;
  std::string why_not;
};

SecretFound find_secret(kube::RestClient& client, const Json& webhook,
                        const std::stop_token& stop) {
  const std::string name_space = service_namespace(webhook);
  if (name_space.empty()) {
    return {Json(), "the webhook is called by a URL"};
  }
  auto secret = client.get({kube::kSecrets, name_space, kSecret, ""}, stop);
  if (!secret) {
    return {Json(), secret.error().message};
  }
  return {std::move(secret).value(), ""};
}

}  // namespace

BundleVerdict judge_bundle(const Json& client_config, const Json& secret,
                           const std::string& why_not, tls::SystemTime now) {
  const std::string pem = pem_of(client_config, "caBundle");
  if (pem.empty()) {
    return {"missing: the API server trusts only the CAs of its own machine", false};
  }
  const auto bundle = tls::parse_bundle(pem);
  if (!bundle) {
    return {"cannot be read: " + bundle.error().message, false};
  }
  const auto valid = [now](const tls::Certificate& one) { return valid_now(one, now); };
  if (std::none_of(bundle.value().begin(), bundle.value().end(), valid)) {
    return {"none of its CAs is valid now", false};
  }
  if (secret.is_null()) {
    return {fmt::format("present; not compared with the certificate: {}", why_not), true};
  }
  const Json* data = base::find(secret, "data");
  const auto serving = tls::Certificate::parse(data == nullptr ? "" : pem_of(*data, "tls.crt"));
  return serving ? compare(bundle.value(), serving.value(), now)
                 : BundleVerdict{
                       fmt::format("present; the certificate in secret {} cannot be read", kSecret),
                       true};
}

Registration find_registration(kube::RestClient& client, const std::string& configuration,
                               tls::SystemTime now, const std::stop_token& stop) {
  const auto found =
      client.get({kube::kMutatingWebhookConfigurations, "", configuration, ""}, stop);
  if (!found) {
    return {
        {},
        found.error().code == base::ErrorCode::NotFound
            ? std::string()
            : fmt::format("the webhook's registration is not known: {}", found.error().message)};
  }
  Registration registration;
  const Json* webhooks = base::find(found.value(), "webhooks");
  if (webhooks == nullptr || !webhooks->is_array() || webhooks->empty()) {
    return registration;
  }
  const SecretFound secret = find_secret(client, webhooks->front(), stop);
  for (const Json& webhook : *webhooks) {
    const Json* client_config = base::find(webhook, "clientConfig");
    const BundleVerdict verdict = judge_bundle(client_config == nullptr ? Json() : *client_config,
                                               secret.secret, secret.why_not, now);
    registration.webhooks.push_back(
        {fmt::format("{}/{}", configuration, base::text_of(base::find(webhook, "name"))), webhook,
         verdict.text, verdict.trusted});
  }
  return registration;
}

}  // namespace injector::cli
