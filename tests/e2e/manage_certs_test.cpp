// --manage-certs on a real API server: replicas that agree, rotation without one lost Pod, healing.

#include <algorithm>
#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "base/base64.h"
#include "base/json.h"
#include "base/json_text.h"
#include "cluster/certificate_keeper.h"
#include "kube/config.h"
#include "kube/rest_client.h"
#include "runtime/sleeper.h"
#include "template/parser.h"
#include "tests/support/api_server.h"
#include "tests/support/eventually.h"
#include "tests/support/fake_clock.h"
#include "tests/support/free_port.h"
#include "tests/support/paths.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tls_client.h"
#include "tls/managed_certificates.h"
#include "tls/serving_certificate.h"

namespace injector::tests {
namespace {

using namespace std::chrono_literals;
using base::Json;

constexpr const char* kUser = "system:serviceaccount:default:injector";
constexpr const char* kSecrets = "/api/v1/namespaces/default/secrets";
constexpr const char* kPods = "/api/v1/namespaces/default/pods";
constexpr const char* kConfigurations =
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
constexpr const char* kValidating =
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
constexpr const char* kRbac = "/apis/rbac.authorization.k8s.io/v1";

constexpr std::chrono::milliseconds kPatience = 120s;

ApiServer& server() {
  static ApiServer instance{{.users = {{.name = kUser, .groups = {"system:serviceaccounts"}}}}};
  return instance;
}

Json json_of(const ApiServer::Response& response) {
  auto parsed = base::read_json(response.body);
  return parsed ? std::move(parsed).value() : Json();
}

void create(const std::string& path, const std::string& body) {
  const auto response = server().request("POST", path, body);
  INFO(response.body);
  REQUIRE(response.status == 201);
}

/// A namespaced Role and a ClusterRole, and whoever runs the webhook bound to both: exactly what
/// the keeper's header says it needs.
void grant(const std::string& secret, const std::string& configuration) {
  const std::string local = fmt::format("{}/namespaces/default/", kRbac);
  create(local + "roles", fmt::format(R"({{"metadata":{{"name":"{0}"}},"rules":[
           {{"apiGroups":[""],"resources":["secrets"],"verbs":["create"]}},
           {{"apiGroups":[""],"resources":["secrets"],"resourceNames":["{0}"],"verbs":["get","update"]}}]}})",
                                      secret));
  create(fmt::format("{}/clusterroles", kRbac),
         fmt::format(R"({{"metadata":{{"name":"{0}"}},"rules":[
           {{"apiGroups":["admissionregistration.k8s.io"],
             "resources":["mutatingwebhookconfigurations","validatingwebhookconfigurations"],
             "resourceNames":["{0}"],"verbs":["get","update"]}}]}})",
                     configuration));
  const auto bind = [](const std::string& path, const char* kind, const std::string& role) {
    create(path, fmt::format(R"({{"metadata":{{"name":"{1}"}},
             "roleRef":{{"apiGroup":"rbac.authorization.k8s.io","kind":"{0}","name":"{1}"}},
             "subjects":[{{"kind":"ServiceAccount","name":"injector","namespace":"default"}}]}})",
                             kind, role));
  };
  bind(local + "rolebindings", "Role", secret);
  bind(fmt::format("{}/clusterrolebindings", kRbac), "ClusterRole", configuration);
}

/// One webhook a port; they are asked about Pods labelled app=<name> alone.
void configure(const std::string& name, const std::vector<int>& ports) {
  std::string webhooks;
  for (const int port : ports) {
    webhooks += fmt::format(
        R"({}{{"name":"w{}.example.test","sideEffects":"None","admissionReviewVersions":["v1"],
          "failurePolicy":"Fail","clientConfig":{{"url":"https://127.0.0.1:{}/mutate"}},
          "objectSelector":{{"matchLabels":{{"app":"{}"}}}},
          "rules":[{{"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"],"operations":["CREATE"]}}]}})",
        webhooks.empty() ? "" : ",", port, port, name);
  }
  create(kConfigurations,
         fmt::format(R"({{"metadata":{{"name":"{}"}},"webhooks":[{}]}})", name, webhooks));
}

std::string path_of(const char* collection, const std::string& name) {
  return fmt::format("{}/{}", collection, name);
}

std::string secret_value(const std::string& secret, const char* key) {
  const Json object = json_of(server().request("GET", path_of(kSecrets, secret)));
  return base::base64_decode(base::text_of(base::find(object, "data", key))).value_or("");
}

/// The PEM that every webhook of a configuration has; empty if they differ.
std::string published_bundle(const std::string& configuration,
                             const char* collection = kConfigurations) {
  const Json object = json_of(server().request("GET", path_of(collection, configuration)));
  std::set<std::string> bundles;
  if (const Json* webhooks = base::find(object, "webhooks")) {
    for (const Json& webhook : *webhooks) {
      bundles.emplace(base::text_of(base::find(webhook, "clientConfig", "caBundle")));
    }
  }
  return bundles.size() == 1 ? base::base64_decode(*bundles.begin()).value_or("") : "";
}

std::unique_ptr<kube::RestClient> connect() {
  kube::Environment environment;
  environment.variable = [](const std::string& /*name*/) { return std::nullopt; };
  const auto config = kube::load_config({.kubeconfig = server().kubeconfig_of(kUser)}, environment);
  REQUIRE(config.has_value());
  auto client = kube::RestClient::create(config.value(), {});
  REQUIRE(client.has_value());
  return std::move(client).value();
}

tls::SystemTime wall_clock() {
  return std::chrono::system_clock::now();
}

/// A keeper in this process, whose steps the test takes.
class Replica {
 public:
  explicit Replica(const std::string& name, std::chrono::hours ahead = 0h)
      : client_(connect()),
        certificate_(tls::ServingCertificate::create(to_pem(test_serving(test_ca())), log_.logger())
                         .value()),
        keeper_({.name_space = "default",
                 .secret = name,
                 .webhook_configuration = name,
                 .certificates = {{"injector.default.svc", "127.0.0.1"}, 30h},
                 .client_ca = {},
                 .poll = 100ms,
                 .settle = 60s},
                *client_, *certificate_, {clock, sleeper_, log_.logger()},
                [this] { return wall_clock() + ahead_.load(); }),
        ahead_(ahead) {}

  base::Result<void> step() { return keeper_.step({}); }

  void sleep(std::chrono::hours time) { ahead_ = ahead_.load() + time; }

  [[nodiscard]] std::string serving() const { return certificate_->context()->certificate().pem(); }

  [[nodiscard]] const cluster::CertificateKeeper& keeper() const { return keeper_; }

  [[nodiscard]] const LogLines& log() const { return log_; }

  FakeClock clock;

 private:
  LogLines log_;
  runtime::SteadySleeper sleeper_;
  std::unique_ptr<kube::RestClient> client_;
  std::unique_ptr<tls::ServingCertificate> certificate_;
  cluster::CertificateKeeper keeper_;
  std::atomic<std::chrono::hours> ahead_;
};

void good(const base::Result<void>& result) {
  INFO((result ? "" : result.error().message));
  REQUIRE(result.has_value());
}

/// Roles take a moment to be known.
void wait_for_role(const std::string& path) {
  const std::string& token = server().token_of(kUser);
  REQUIRE(
      eventually([&] { return server().request_as(token, "GET", path).status != 403; }, kPatience));
}

/// Everything a test needs under one name, allowed and in place.
void prepare(const std::string& name, const std::vector<int>& ports) {
  grant(name, name);
  configure(name, ports);
  wait_for_role(path_of(kConfigurations, name));
  wait_for_role(path_of(kSecrets, name));
}

TEST_CASE("manage certs: three replicas that start at once agree", "[apiserver]") {
  prepare("agree", {1, 2});
  std::vector<std::unique_ptr<Replica>> replicas;
  for (int i = 0; i < 3; ++i) {
    replicas.push_back(std::make_unique<Replica>("agree"));
    CHECK_FALSE(replicas.back()->keeper().ready());
  }
  {
    std::vector<std::jthread> threads;
    for (const auto& replica : replicas) {
      threads.emplace_back([&replica] { static_cast<void>(replica->step()); });
    }
  }
  for (const auto& replica : replicas) {
    good(replica->step());
    good(replica->keeper().ready());
    CHECK(replica->serving() == secret_value("agree", "tls.crt"));
  }
  CHECK(published_bundle("agree") == secret_value("agree", "ca.crt"));
  CHECK(tls::parse_bundle(published_bundle("agree")).value().size() == 1);
}

TEST_CASE("manage certs: no replica serves what is not yet trusted", "[apiserver]") {
  prepare("phases", {1});
  Replica first("phases");
  Replica second("phases");
  good(first.step());
  good(second.step());
  const std::string before = first.serving();
  for (Replica* replica : {&first, &second}) {
    replica->sleep(21h);  // Of 30: the renewal is due.
    good(replica->step());
    CHECK(replica->serving() == before);
  }
  CHECK(tls::parse_bundle(published_bundle("phases")).value().size() == 2);

  first.clock.advance(59s);
  good(first.step());
  CHECK(secret_value("phases", "tls.crt") == before);
  first.clock.advance(1s);
  good(first.step());
  CHECK(first.serving() != before);
  CHECK(first.serving() == secret_value("phases", "tls.crt"));

  good(second.step());  // Has not watched the new CA for long enough itself.
  CHECK(second.serving() == before);
  second.clock.advance(60s);
  good(second.step());
  CHECK(second.serving() == first.serving());
  CHECK(tls::parse_bundle(published_bundle("phases")).value().size() == 2);
}

TEST_CASE("manage certs: a deleted Secret and an edited caBundle are put right", "[apiserver]") {
  prepare("heal", {1, 2});
  Replica replica("heal");
  good(replica.step());
  const std::string certificate = secret_value("heal", "tls.crt");
  const std::string bundle = published_bundle("heal");
  REQUIRE_FALSE(bundle.empty());

  REQUIRE(server().request("DELETE", path_of(kSecrets, "heal")).status == 200);
  good(replica.step());
  CHECK(secret_value("heal", "tls.crt") == certificate);

  const std::string foreign = base::base64_encode(test_ca().certificate.pem());
  const auto edited = server().request(
      "PATCH", path_of(kConfigurations, "heal"),
      fmt::format(R"([{{"op":"replace","path":"/webhooks/1/clientConfig/caBundle","value":"{}"}}])",
                  foreign),
      "application/json-patch+json");
  REQUIRE(edited.status == 200);
  REQUIRE(published_bundle("heal") != bundle);
  good(replica.step());
  CHECK(published_bundle("heal") == bundle);
}

TEST_CASE("manage certs: every webhook of the validating configuration is kept, if there is one",
          "[apiserver]") {
  prepare("validating", {1, 2});
  Replica replica("validating");
  good(replica.step());  // There is none.
  good(replica.keeper().ready());
  CHECK(replica.log().count("not kept") == 0);
  const char* const entry = R"({{"name":"v{}.example.test","sideEffects":"None",
    "admissionReviewVersions":["v1"],"failurePolicy":"Ignore","clientConfig":{{"url":"https://127.0.0.1:1/validate"}},
    "rules":[{{"apiGroups":[""],"apiVersions":["v1"],"resources":["nosuch"],"operations":["CREATE"]}}]}})";
  create(kValidating,
         fmt::format(R"({{"metadata":{{"name":"validating"}},"webhooks":[{},{}]}})",
                     fmt::format(fmt::runtime(entry), 1), fmt::format(fmt::runtime(entry), 2)));
  good(replica.step());
  const std::string bundle = published_bundle("validating");
  REQUIRE_FALSE(bundle.empty());
  CHECK(published_bundle("validating", kValidating) == bundle);
  REQUIRE(server().request("DELETE", path_of(kValidating, "validating")).status == 200);
  good(replica.step());
}

TEST_CASE("manage certs: a validating configuration that is not ours to touch stops nothing",
          "[apiserver]") {
  prepare("untouchable", {1});
  REQUIRE(server()
              .request("PATCH",
                       path_of("/apis/rbac.authorization.k8s.io/v1/clusterroles", "untouchable"),
                       R"([{"op":"remove","path":"/rules/0/resources/1"}])",
                       "application/json-patch+json")
              .status == 200);
  const std::string& token = server().token_of(kUser);
  REQUIRE(eventually(
      [&] {
        return server().request_as(token, "GET", path_of(kValidating, "untouchable")).status == 403;
      },
      kPatience));
  Replica replica("untouchable");
  good(replica.step());
  good(replica.step());
  good(replica.keeper().ready());
  CHECK(published_bundle("untouchable") == secret_value("untouchable", "ca.crt"));
  CHECK(replica.log().count("validating webhook configuration not kept") == 1);
}

TEST_CASE("manage certs: a broken Secret is put right and what is not ours stays", "[apiserver]") {
  prepare("broken", {1});
  Replica replica("broken");
  good(replica.step());
  const std::string key = secret_value("broken", "ca.key");
  const auto edited = server().request(
      "PATCH", path_of(kSecrets, "broken"),
      R"({"metadata":{"labels":{"mine":"yes"}},"data":{"ca.key":"bm8=","tls.crt":"","own":"bm8="}})",
      "application/merge-patch+json");
  REQUIRE(edited.status == 200);
  good(replica.step());
  CHECK(secret_value("broken", "ca.key") == key);
  CHECK(secret_value("broken", "own") == "no");
  const Json object = json_of(server().request("GET", path_of(kSecrets, "broken")));
  CHECK(base::text_of(base::find(object, "metadata", "labels", "mine")) == "yes");
  CHECK(replica.log().count("managed certificates written") == 2);

  Replica newcomer("broken");
  good(newcomer.step());
  CHECK(newcomer.serving() == replica.serving());
}

TEST_CASE("manage certs: not ready without the configuration, ready when it comes", "[apiserver]") {
  grant("late", "late");
  wait_for_role(path_of(kConfigurations, "late"));
  wait_for_role(path_of(kSecrets, "late"));
  Replica replica("late");
  const auto stepped = replica.step();
  REQUIRE_FALSE(stepped);
  CHECK(stepped.error().code == base::ErrorCode::NotFound);
  CHECK_FALSE(replica.keeper().ready());
  CHECK(replica.serving() == secret_value("late", "tls.crt"));
  configure("late", {1});
  good(replica.step());
  good(replica.keeper().ready());
  REQUIRE(server().request("DELETE", path_of(kConfigurations, "late")).status == 200);
  CHECK_FALSE(replica.step());
  good(replica.keeper().ready());  // An API server's answer never takes us out of service.
}

/// `envoy-initializer webhook --manage-certs` as its Deployment runs it, with a life of seconds.
class Webhook {
 public:
  Webhook(const std::string& name, int port, const TempDir& dir)
      : admin_port_(free_port()),
        log_(dir.file(fmt::format("webhook-{}.log", port))),
        process_({.argv = {kProgram,
                           "webhook",
                           "--config",
                           dir.file("template.yaml"),
                           "--listen",
                           fmt::format("127.0.0.1:{}", port),
                           "--admin-listen",
                           fmt::format("127.0.0.1:{}", admin_port_),
                           "--manage-certs",
                           "--force-manage-certs",
                           "--secret",
                           name,
                           "--webhook-configuration",
                           name,
                           "--cert-dns",
                           "127.0.0.1",
                           "--cert-lifetime",
                           "45s",
                           "--inject-by-default",
                           "--kubeconfig",
                           server().kubeconfig_of(kUser),
                           "--shutdown-delay",
                           "0s"},
                  .log_file = log_}) {}

  [[nodiscard]] bool ready() const {
    TlsClient client(static_cast<std::uint16_t>(admin_port_), {.tls = false});
    const auto answer = client.connected()
                            ? client.ask("GET /readyz HTTP/1.1\r\nHost: admin\r\n\r\n")
                            : std::nullopt;
    return answer && answer->status == 200;
  }

  [[nodiscard]] std::string log() const { return tail(log_, 60); }

 private:
  int admin_port_;
  std::string log_;
  ChildProcess process_;
};

/// Whether a new connection is accepted by who trusts `bundle`, as an API server would.
bool trusted(int port, const std::string& bundle) {
  const auto authorities = tls::parse_bundle(bundle);
  if (!authorities) {
    return false;
  }
  return std::any_of(
      authorities.value().begin(), authorities.value().end(),
      [port](const tls::Certificate& authority) {
        return TlsClient(static_cast<std::uint16_t>(port), {.ca = &authority}).connected();
      });
}

/// The same with the bundle of this moment. A busy machine may stop us for longer than a new CA is
/// given to become known: what we read is then too old to be a proof.
bool trusted_now(int port) {
  const std::string before = published_bundle("rotate");
  return trusted(port, before) || (published_bundle("rotate") != before && trusted_now(port));
}

TEST_CASE("manage certs: Pods are created without a failure across two rotations", "[apiserver]") {
  const std::vector<int> ports{free_port(), free_port()};
  const TempDir dir;
  static_cast<void>(dir.write("template.yaml", templates::default_template_text()));
  prepare("rotate", ports);
  const Webhook first("rotate", ports[0], dir);
  const Webhook second("rotate", ports[1], dir);
  INFO(first.log());
  REQUIRE(eventually([&] { return first.ready() && second.ready(); }, kPatience));

  std::set<std::string> served;
  int pods = 0;
  const bool rotated_twice = eventually(
      [&] {
        const std::string pod = fmt::format(
            R"({{"metadata":{{"name":"rotate-{}","labels":{{"app":"rotate"}}}},"spec":{{"containers":[{{"name":"main","image":"main"}}]}}}})",
            pods++);
        const auto created = server().request("POST", kPods, pod);
        INFO(created.body);
        INFO(first.log());
        REQUIRE(created.status == 201);
        REQUIRE(base::find(json_of(created), "spec", "containers")->size() == 2);
        REQUIRE(trusted_now(ports[0]));
        REQUIRE(trusted_now(ports[1]));
        served.insert(secret_value("rotate", "tls.crt"));
        return served.size() >= 3;
      },
      300s);
  CHECK(rotated_twice);
  CHECK(pods > 10);

  REQUIRE(server().request("DELETE", path_of(kSecrets, "rotate")).status == 200);
  CHECK(eventually([] { return !secret_value("rotate", "tls.key").empty(); }, kPatience));
}

}  // namespace
}  // namespace injector::tests
