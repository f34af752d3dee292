#include "cli/webhook_registration.h"

#include <chrono>
#include <string>

#include <catch2/catch.hpp>

#include "base/base64.h"
#include "base/json.h"
#include "tests/support/fake_api.h"

namespace injector::cli {
namespace {

using namespace std::chrono_literals;

using base::Json;
using tests::FakeApi;

const tls::SystemTime kNow = std::chrono::system_clock::now();

tls::KeyPair authority(const std::string& name, std::chrono::seconds lifetime = 24h) {
  return tls::make_ca(name, {kNow, lifetime}).value();
}

Json client_config(const tls::KeyPair& ca) {
  return Json({{"service", {{"namespace", "mesh"}, {"name", "envoy-initializer"}}},
               {"caBundle", base::base64_encode(ca.certificate.pem())}});
}

Json secret_of(const tls::KeyPair& ca) {
  const auto serving = tls::make_serving_certificate(ca, {"a.svc"}, {kNow, 24h}).value();
  return Json({{"data", {{"tls.crt", base::base64_encode(serving.certificate.pem())}}}});
}

TEST_CASE("webhook registration: a caBundle is compared with the certificate", "[cli]") {
  const tls::KeyPair ca = authority("one");
  const BundleVerdict good = judge_bundle(client_config(ca), secret_of(ca), "", kNow);
  CHECK(good.trusted);
  CHECK(good.text == "signed the certificate in secret envoy-initializer-tls");
  const BundleVerdict bad = judge_bundle(client_config(authority("two")), secret_of(ca), "", kNow);
  CHECK_FALSE(bad.trusted);
  CHECK(bad.text.find("did not sign") == 0);
  const BundleVerdict late = judge_bundle(client_config(ca), secret_of(ca), "", kNow + 48h);
  CHECK_FALSE(late.trusted);
}

TEST_CASE("webhook registration: a caBundle that is missing or no PEM is told", "[cli]") {
  CHECK_FALSE(judge_bundle(Json::object(), Json(), "", kNow).trusted);
  CHECK(judge_bundle(Json::object(), Json(), "", kNow).text.find("missing") == 0);
  const Json nonsense({{"caBundle", base::base64_encode("nonsense")}});
  CHECK(judge_bundle(nonsense, Json(), "", kNow).text.find("cannot be read") == 0);
  const BundleVerdict alone = judge_bundle(client_config(authority("one")), Json(), "why", kNow);
  CHECK(alone.trusted);
  CHECK(alone.text == "present; not compared with the certificate: why");
  CHECK(judge_bundle(client_config(authority("one")), Json::object(), "", kNow).trusted);
}

TEST_CASE("webhook registration: each webhook of the configuration is found", "[cli]") {
  const tls::KeyPair ca = authority("one");
  const Json configuration(
      {{"webhooks", Json::array({Json({{"name", "a.example"}, {"clientConfig", client_config(ca)}}),
                                 Json({{"name", "b.example"}})})}});
  FakeApi api([&](const FakeApi::Request& request, FakeApi::Peer& peer) {
    if (request.target.ends_with("/mutatingwebhookconfigurations/ours")) {
      peer.respond(200, base::to_text(configuration));
    } else if (request.target == "/api/v1/namespaces/mesh/secrets/envoy-initializer-tls") {
      peer.respond(200, base::to_text(secret_of(ca)));
    } else if (request.target.ends_with("/none")) {
      peer.refuse(404, "NotFound");
    } else {
      peer.refuse(403, "Forbidden");
    }
  });
  const auto client = kube::RestClient::create(api.config(), {}).value();
  const Registration found = find_registration(*client, "ours", kNow, {});
  REQUIRE(found.webhooks.size() == 2);
  CHECK(found.webhooks[0].title == "ours/a.example");
  CHECK(found.webhooks[0].ca_trusted);
  CHECK_FALSE(found.webhooks[1].ca_trusted);
  CHECK(find_registration(*client, "none", kNow, {}).note.empty());
  CHECK(find_registration(*client, "secret", kNow, {}).note.find("is not known") !=
        std::string::npos);
}

}  // namespace
}  // namespace injector::cli
