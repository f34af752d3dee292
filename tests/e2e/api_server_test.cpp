// The harness itself: what every test on a real API server takes for granted.

#include "tests/support/api_server.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "base/json.h"
#include "base/json_text.h"
#include "tests/support/eventually.h"

namespace injector::tests {
namespace {

constexpr const char* kConfigMaps = "/api/v1/namespaces/default/configmaps";
constexpr const char* kSecrets = "/api/v1/namespaces/default/secrets";
constexpr const char* kReader = "system:serviceaccount:default:reader";

ApiServer& server() {
  static ApiServer instance{
      {.users = {{.name = "nobody"}, {.name = kReader, .groups = {"system:serviceaccounts"}}},
       .flags = {"--watch-cache-sizes=secrets#0"}}};
  return instance;
}

/// The first event of a watch.
ApiServer::Response first_line(ApiServer::Response response) {
  response.body.resize(std::min(response.body.find('\n'), response.body.size()));
  return response;
}

base::Json json_of(const ApiServer::Response& response) {
  INFO(response.body);
  auto parsed = base::read_json(response.body);
  REQUIRE(parsed.has_value());
  return std::move(parsed).value();
}

std::string text_at(const base::Json& object, std::string_view first, std::string_view second) {
  return std::string(base::text_of(base::find(object, first, second)));
}

int number_at(const base::Json& object, std::string_view first, std::string_view second) {
  const base::Json* number = base::find(object, first, second);
  REQUIRE(number != nullptr);
  REQUIRE(number->is_number_integer());
  return number->get<int>();
}

std::string config_map(std::string_view name, std::string_view value) {
  return fmt::format(R"({{"metadata":{{"name":"{}"}},"data":{{"key":"{}"}}}})", name, value);
}

void create(const std::string& path, const std::string& body) {
  const ApiServer::Response response = server().request("POST", path, body);
  INFO(response.body);
  REQUIRE(response.status == 201);
}

std::string value_of(std::string_view name) {
  return text_at(json_of(server().request("GET", fmt::format("{}/{}", kConfigMaps, name))), "data",
                 "key");
}

std::size_t count(const std::string& path) {
  const base::Json list = json_of(server().request("GET", path));
  const base::Json* items = base::find(list, "items");
  return items != nullptr ? items->size() : 0;
}

TEST_CASE("api server: is ready and says which Kubernetes it is", "[apiserver]") {
  CHECK(server().request("GET", "/readyz").body == "ok");
  const base::Json version = json_of(server().request("GET", "/version"));
  const TempDir dir;
  const std::string log = dir.file("version");
  const std::string binary = *find_api_server_binaries().directory + "/kube-apiserver";
  REQUIRE(run({.argv = {binary, "--version"}, .log_file = log}) == 0);
  CHECK(tail(log) ==
        fmt::format("Kubernetes {}\n", base::text_of(base::find(version, "gitVersion"))));
}

TEST_CASE("api server: keeps what is created", "[apiserver]") {
  create(kConfigMaps, config_map("kept", "value"));
  CHECK(value_of("kept") == "value");
}

TEST_CASE("api server: a patch goes out with its own media type", "[apiserver]") {
  create(kConfigMaps, config_map("patched", "before"));
  const auto response =
      server().request("PATCH", fmt::format("{}/patched", kConfigMaps),
                       R"({"data":{"key":"after"}})", "application/merge-patch+json");
  CHECK(response.status == 200);
  CHECK(value_of("patched") == "after");
}

TEST_CASE("api server: strangers are turned away", "[apiserver]") {
  CHECK(server().request_as("", "GET", kConfigMaps).status == 403);
  CHECK(server().request_as("not-a-token", "GET", kConfigMaps).status == 401);
}

TEST_CASE("api server: the administrator's token works", "[apiserver]") {
  CHECK(server().request_as(server().token(), "GET", kConfigMaps).status == 200);
}

TEST_CASE("api server: a user may do what a role binding allows, and no more", "[apiserver]") {
  const std::string& token = server().token_of(kReader);
  CHECK(server().request_as(token, "GET", kConfigMaps).status == 403);
  create(
      "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles",
      R"({"metadata":{"name":"reader"},"rules":[{"apiGroups":[""],"resources":["configmaps"],"verbs":["list"]}]})");
  create("/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings",
         R"({"metadata":{"name":"reader"},
             "roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"reader"},
             "subjects":[{"kind":"ServiceAccount","name":"reader","namespace":"default"}]})");
  CHECK(eventually([&] { return server().request_as(token, "GET", kConfigMaps).status == 200; }));
  CHECK(server().request_as(token, "POST", kConfigMaps, config_map("x", "y")).status == 403);
  CHECK(server().request_as(server().token_of("nobody"), "GET", kConfigMaps).status == 403);
}

TEST_CASE("api server: a client that trusts another authority is not served", "[apiserver]") {
  const TempDir dir;
  const CertificateAuthority other(dir);
  const std::string log = dir.file("log");
  const std::vector<std::string> curl = {"curl", "--silent", "--show-error", "--cacert"};
  std::vector<std::string> trusting = curl;
  trusting.insert(trusting.end(), {server().ca_file(), server().url() + "/readyz"});
  std::vector<std::string> wary = curl;
  wary.insert(wary.end(), {other.cert_file(), server().url() + "/readyz"});
  CHECK(run({.argv = trusting, .log_file = log}) == 0);
  CHECK(run({.argv = wary, .log_file = log}) == 60);  // curl: the certificate cannot be verified.
}

TEST_CASE("api server: data survives a kill of kube-apiserver", "[apiserver]") {
  create(kConfigMaps, config_map("before-kill", "1"));
  const std::string url = server().url();
  server().kill_api_server();
  CHECK(server().request("GET", "/readyz").status == 0);
  server().start_api_server();
  CHECK(server().url() == url);
  CHECK(value_of("before-kill") == "1");
}

TEST_CASE("api server: data survives a kill of etcd", "[apiserver]") {
  create(kConfigMaps, config_map("before-etcd-kill", "1"));
  server().kill_etcd();
  CHECK(server().request("GET", "/readyz").status != 200);
  server().start_etcd();
  CHECK(value_of("before-etcd-kill") == "1");
  create(kConfigMaps, config_map("after-etcd-kill", "2"));
}

TEST_CASE("api server: both can be stopped and started again", "[apiserver]") {
  create(kConfigMaps, config_map("before-stop", "1"));
  server().stop_api_server();
  server().stop_etcd();
  server().start_etcd();
  server().start_api_server();
  CHECK(value_of("before-stop") == "1");
}

// The server crashes here if it was built with a reflect2 that is too old for its compiler.
TEST_CASE("api server: custom resources can be defined and created", "[apiserver]") {
  create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", R"({
    "metadata": {"name": "networks.example.test"},
    "spec": {"group": "example.test", "scope": "Namespaced",
      "names": {"plural": "networks", "singular": "network", "kind": "Network"},
      "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema":
        {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}}}]}})");
  const std::string path = "/apis/example.test/v1/namespaces/default/networks";
  REQUIRE(eventually([&] { return server().request("GET", path).status == 200; }));
  create(
      path,
      R"({"apiVersion":"example.test/v1","kind":"Network","metadata":{"name":"home"},"spec":{"size":7}})");
  const base::Json network = json_of(server().request("GET", path + "/home"));
  CHECK(number_at(network, "spec", "size") == 7);
  CHECK(server().request("GET", "/readyz").status == 200);
}

TEST_CASE("api server: a mutating webhook can be registered", "[apiserver]") {
  create("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", R"({
    "metadata": {"name": "test"},
    "webhooks": [{"name": "test.example.test", "sideEffects": "None", "admissionReviewVersions": ["v1"],
      "failurePolicy": "Ignore", "clientConfig": {"url": "https://127.0.0.1:1/mutate"},
      "rules": [{"apiGroups": ["example.test"], "apiVersions": ["v1"], "resources": ["none"],
        "operations": ["CREATE"]}]}]})");
}

TEST_CASE("controller manager: a Deployment becomes a ReplicaSet and Pods", "[apiserver]") {
  server().start_controller_manager();
  create("/apis/apps/v1/namespaces/default/deployments", R"({
    "metadata": {"name": "web"},
    "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}},
      "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "web"}]}}}})");
  CHECK(eventually([] {
    return count("/apis/apps/v1/namespaces/default/replicasets?labelSelector=app%3Dweb") == 1;
  }));
  CHECK(eventually(
      [] { return count("/api/v1/namespaces/default/pods?labelSelector=app%3Dweb") == 2; }));
  server().stop_controller_manager();
}

// Secrets have no watch cache here (see the flags above), so etcd itself answers.
TEST_CASE("compaction: an old resource version is gone", "[apiserver]") {
  create(kSecrets, R"({"metadata":{"name":"first"}})");
  const std::string old =
      text_at(json_of(server().request("GET", kSecrets)), "metadata", "resourceVersion");
  create(kSecrets, R"({"metadata":{"name":"second"}})");
  create(kSecrets,
         R"({"metadata":{"name":"third"}})");  // The newest revision outlives a compaction.
  const std::string watch =
      fmt::format("{}?watch=1&timeoutSeconds=1&resourceVersion={}", kSecrets, old);
  const std::string exact =
      fmt::format("{}?limit=500&resourceVersion={}&resourceVersionMatch=Exact", kSecrets, old);
  const base::Json seen = json_of(first_line(server().request("GET", watch)));
  CHECK(base::text_of(base::find(seen, "type")) == "ADDED");
  CHECK(count(exact) == 1);

  CHECK(server().compact_etcd() > std::stoll(old));

  const base::Json refused = json_of(first_line(server().request("GET", watch)));
  CHECK(base::text_of(base::find(refused, "type")) == "ERROR");
  CHECK(number_at(refused, "object", "code") == 410);
  CHECK(server().request("GET", exact).status == 410);
}

TEST_CASE("api server: a kubeconfig file leads to it", "[apiserver]") {
  const TempDir dir;
  const std::string log = dir.file("log");
  if (run({.argv = {"sh", "-c", "command -v kubectl"}, .log_file = log}) != 0) {
    WARN("no kubectl here: the kubeconfig files are not tried");
    return;
  }
  const auto kubectl = [&](const std::string& kubeconfig) {
    return run({.argv = {"kubectl", "--kubeconfig", kubeconfig, "get", "--raw", "/api/v1/nodes"},
                .log_file = log});
  };
  CHECK(kubectl(server().kubeconfig_path()) == 0);
  CHECK(kubectl(server().kubeconfig_of("nobody")) == 1);
  CHECK(tail(log).find("User \"nobody\" cannot list resource \"nodes\"") != std::string::npos);
}

TEST_CASE("api server: two run side by side, and nothing is left of one that went", "[apiserver]") {
  std::vector<pid_t> pids;
  std::filesystem::path directory;
  {
    const ApiServer other;
    CHECK(other.url() != server().url());
    CHECK(other.request("GET", fmt::format("{}/kept", kConfigMaps)).status == 404);
    pids = other.pids();
    directory = other.directory().path();
    CHECK(pids.size() == 2);
    CHECK(std::filesystem::exists(directory));
  }
  for (const pid_t pid : pids) {
    CHECK(::kill(pid, 0) != 0);
  }
  CHECK_FALSE(std::filesystem::exists(directory));
}

TEST_CASE("api server: what does not start says why", "[apiserver]") {
  CHECK_THROWS_WITH((ApiServer{{.flags = {"--no-such-flag"}}}), Catch::Contains("no-such-flag"));
}

}  // namespace
}  // namespace injector::tests
