#include "cluster/certificate_objects.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/base64.h"

namespace injector::cluster {
namespace {

using base::Json;

struct DataKey {
  const char* name;
  std::string tls::StoredCertificates::*member;
};

constexpr std::array<DataKey, 4> kDataKeys{{
    {"ca.crt", &tls::StoredCertificates::ca_crt},
    {"ca.key", &tls::StoredCertificates::ca_key},
    {"tls.crt", &tls::StoredCertificates::tls_crt},
    {"tls.key", &tls::StoredCertificates::tls_key},
}};

std::vector<tls::Certificate> bundle_of(const Json& webhook) {
  const auto text = base::text_of(base::find(webhook, "clientConfig", "caBundle"));
  const auto pem = base::base64_decode(text);
  auto bundle = tls::parse_bundle(pem.value_or(""));
  return bundle ? std::move(bundle).value() : std::vector<tls::Certificate>();
}

bool contains(const std::vector<tls::Certificate>& bundle, const tls::Certificate& wanted) {
  return std::any_of(bundle.begin(), bundle.end(), [&wanted](const tls::Certificate& one) {
    return one.fingerprint() == wanted.fingerprint();
  });
}

}  // namespace

tls::StoredCertificates content_of(const Json& secret) {
  tls::StoredCertificates content;
  for (const DataKey& key : kDataKeys) {
    const auto text = base::text_of(base::find(secret, "data", key.name));
    content.*key.member = base::base64_decode(text).value_or("");
  }
  return content;
}

void set_content(Json& secret, const tls::StoredCertificates& content) {
  Json& data = secret["data"];
  if (!data.is_object()) {
    data = Json::object();
  }
  for (const DataKey& key : kDataKeys) {
    data[key.name] = base::base64_encode(content.*key.member);
  }
}

Json new_secret(const std::string& name_space, const std::string& name) {
  return {{"apiVersion", "v1"},
          {"kind", "Secret"},
          {"metadata",
           {{"name", name},
            {"namespace", name_space},
            {"labels", {{"app.kubernetes.io/managed-by", "envoy-initializer"}}}}},
          {"type", "kubernetes.io/tls"}};
}

std::vector<tls::Certificate> trusted_by(const Json& configuration) {
  const Json* webhooks = base::find(configuration, "webhooks");
  if (webhooks == nullptr || !webhooks->is_array() || webhooks->empty()) {
    return {};
  }
  std::vector<tls::Certificate> trusted = bundle_of(webhooks->front());
  for (const Json& webhook : *webhooks) {
    const auto bundle = bundle_of(webhook);
    trusted.erase(
        std::remove_if(trusted.begin(), trusted.end(),
                       [&bundle](const tls::Certificate& one) { return !contains(bundle, one); }),
        trusted.end());
  }
  return trusted;
}

bool set_bundle(Json& configuration, const std::string& pem) {
  Json* webhooks = base::find(configuration, "webhooks");
  if (webhooks == nullptr) {
    return false;
  }
  const std::string text = base::base64_encode(pem);
  bool changed = false;
  for (Json& webhook : *webhooks) {
    Json* client = base::find(webhook, "clientConfig");
    if (client == nullptr || base::text_of(base::find(*client, "caBundle")) == text) {
      continue;
    }
    (*client)["caBundle"] = text;
    changed = true;
  }
  return changed;
}

}  // namespace injector::cluster
