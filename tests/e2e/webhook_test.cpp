// The binary as a webhook of a real API server: registered, called, followed.

#include <chrono>
#include <csignal>
#include <map>
#include <optional>
#include <string>

#include <catch2/catch.hpp>

#include "base/base64.h"
#include "base/json.h"
#include "codec/json.h"
#include "tests/support/api_server.h"
#include "tests/support/child_process.h"
#include "tests/support/eventually.h"
#include "tests/support/files.h"
#include "tests/support/free_port.h"
#include "tests/support/temp_dir.h"

namespace injector::tests {
namespace {

using base::Json;

constexpr const char* kPods = "/api/v1/namespaces/default/pods";

ApiServer& server() {
  static ApiServer instance{{.users = {{.name = "injector"}}}};
  return instance;
}

std::string file(const TempDir& dir, const std::string& name) {
  return (dir.path() / name).string();
}

Json parse(const std::string& text) {
  return codec::read_json(text).value();
}

Json must(const ApiServer::Response& response) {
  INFO(response.body);
  REQUIRE(response.status >= 200);
  REQUIRE(response.status < 300);
  return parse(response.body);
}

std::string config_map(const std::string& image) {
  return codec::write_json(
      Json({{"apiVersion", "v1"},
            {"kind", "ConfigMap"},
            {"metadata", {{"name", "envoy-initializer"}}},
            {"data", {{"config", "containers:\n- name: envoy\n  image: " + image + "\n"}}}}));
}

// RBAC for exactly what the webhook reads: one ConfigMap by name, and Namespaces.
void grant() {
  static const bool kDone = [] {
    const char* const role = R"({"kind":"Role","apiVersion":"rbac.authorization.k8s.io/v1",
      "metadata":{"name":"injector"},"rules":[{"apiGroups":[""],"resources":["configmaps"],
      "resourceNames":["envoy-initializer"],"verbs":["get","list","watch"]}]})";
    const char* const binding =
        R"({"kind":"RoleBinding","apiVersion":"rbac.authorization.k8s.io/v1",
      "metadata":{"name":"injector"},"subjects":[{"kind":"User","name":"injector",
      "apiGroup":"rbac.authorization.k8s.io"}],"roleRef":{"kind":"Role","name":"injector",
      "apiGroup":"rbac.authorization.k8s.io"}})";
    const char* const cluster_role = R"({"kind":"ClusterRole",
      "apiVersion":"rbac.authorization.k8s.io/v1","metadata":{"name":"injector"},"rules":[
      {"apiGroups":[""],"resources":["namespaces"],"verbs":["get","list","watch"]}]})";
    const char* const cluster_binding = R"({"kind":"ClusterRoleBinding",
      "apiVersion":"rbac.authorization.k8s.io/v1","metadata":{"name":"injector"},"subjects":[
      {"kind":"User","name":"injector","apiGroup":"rbac.authorization.k8s.io"}],
      "roleRef":{"kind":"ClusterRole","name":"injector","apiGroup":"rbac.authorization.k8s.io"}})";
    const std::string rbac = "/apis/rbac.authorization.k8s.io/v1/";
    must(server().request("POST", rbac + "namespaces/default/roles", role));
    must(server().request("POST", rbac + "namespaces/default/rolebindings", binding));
    must(server().request("POST", rbac + "clusterroles", cluster_role));
    must(server().request("POST", rbac + "clusterrolebindings", cluster_binding));
    return true;
  }();
  static_cast<void>(kDone);
}

// One webhook process on the template in the ConfigMap, registered with the API server.
class Webhook {
 public:
  explicit Webhook(const std::string& name)
      : name_(name),
        port_(free_port()),
        admin_port_(free_port()) {
    grant();
    static_cast<void>(
        server().request("DELETE", "/api/v1/namespaces/default/configmaps/envoy-initializer"));
    must(server().request("POST", "/api/v1/namespaces/default/configmaps",
                          config_map("envoy:first")));
    make_certificate();
    process_.emplace(ChildProcess::Command{
        .argv = {INJ_BINARY, "webhook", "--listen", "127.0.0.1:" + std::to_string(port_),
                 "--admin-listen", "127.0.0.1:" + std::to_string(admin_port_), "--tls-cert",
                 file(dir_, "certs/tls.crt"), "--tls-key", file(dir_, "certs/tls.key"),
                 "--configmap", "default/envoy-initializer", "--kubeconfig",
                 server().kubeconfig_of("injector"), "--shutdown-delay", "100ms"},
        .log_file = file(dir_, "log")});
    register_webhook();
    REQUIRE(eventually([&] { return injected_image("probe-" + name_) == "envoy:first"; }));
  }

  ~Webhook() { static_cast<void>(server().request("DELETE", configurations() + "/" + name_)); }

  Webhook(const Webhook&) = delete;
  Webhook& operator=(const Webhook&) = delete;

  ChildProcess& process() { return *process_; }

  std::string log() const { return read_file(file(dir_, "log")); }

  // Creates a Pod by server-side dry run; the image of its sidecar, or empty.
  static std::string injected_image(const std::string& pod) {
    const Json object(
        {{"apiVersion", "v1"},
         {"kind", "Pod"},
         {"metadata",
          {{"name", pod}, {"annotations", {{"initializer.kubernetes.io/envoy", "true"}}}}},
         {"spec", {{"containers", {{{"name", "app"}, {"image", "nginx"}}}}}}});
    const auto response =
        server().request("POST", std::string(kPods) + "?dryRun=All", codec::write_json(object));
    if (response.status != 201) {
      return {};
    }
    const Json created = parse(response.body);
    const Json& containers = created.at("spec").at("containers");
    return containers.size() < 2 ? std::string() : containers.at(1).at("image").get<std::string>();
  }

 private:
  static std::string configurations() {
    return "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
  }

  void make_certificate() {
    REQUIRE(run({.argv = {INJ_BINARY, "certs", "--dns", "127.0.0.1", "--out", file(dir_, "certs")},
                 .log_file = file(dir_, "certs.log")}) == 0);
  }

  void register_webhook() {
    const std::string ca = read_file(file(dir_, "certs/ca.crt"));
    const Json webhook({{"name", name_ + ".initializer.kubernetes.io"},
                        {"clientConfig",
                         {{"url", "https://127.0.0.1:" + std::to_string(port_) + "/mutate"},
                          {"caBundle", base::base64_encode(ca)}}},
                        {"rules",
                         {{{"apiGroups", {""}},
                           {"apiVersions", {"v1"}},
                           {"operations", {"CREATE"}},
                           {"resources", {"pods"}}}}},
                        {"admissionReviewVersions", {"v1", "v1beta1"}},
                        {"sideEffects", "None"},
                        {"failurePolicy", "Fail"},
                        {"timeoutSeconds", 5}});
    must(server().request("POST", configurations(),
                          codec::write_json(Json({{"apiVersion", "admissionregistration.k8s.io/v1"},
                                                  {"kind", "MutatingWebhookConfiguration"},
                                                  {"metadata", {{"name", name_}}},
                                                  {"webhooks", Json::array({webhook})}}))));
  }

  std::string name_;
  int port_;
  int admin_port_;
  TempDir dir_;
  std::optional<ChildProcess> process_;
};

TEST_CASE("webhook: a stored Pod has the sidecar, with only the roles it needs", "[apiserver]") {
  Webhook webhook("stored");
  const Json created = must(server().request("POST", kPods, R"({"apiVersion":"v1","kind":"Pod",
    "metadata":{"name":"stored","annotations":{"initializer.kubernetes.io/envoy":"true"}},
    "spec":{"containers":[{"name":"app","image":"nginx"}]}})"));
  CHECK(created.at("spec").at("containers").at(1).at("name") == "envoy");
  CHECK(
      created.at("metadata").at("annotations").contains("initializer.kubernetes.io/envoy-status"));
  const Json plain = must(server().request("POST", kPods, R"({"apiVersion":"v1","kind":"Pod",
    "metadata":{"name":"plain"},"spec":{"containers":[{"name":"app","image":"nginx"}]}})"));
  CHECK(plain.at("spec").at("containers").size() == 1);
}

TEST_CASE("inject: takes its template from the cluster's ConfigMap", "[apiserver]") {
  const Webhook webhook("local");
  const TempDir dir;
  REQUIRE(run({.argv = {INJ_BINARY, "inject", "-f", data_path("fixtures/envoy/pod.yaml"),
                        "--configmap", "default/envoy-initializer", "--kubeconfig",
                        server().kubeconfig_of("injector")},
               .log_file = file(dir, "out")}) == 0);
  CHECK_THAT(read_file(file(dir, "out")), Catch::Contains("image: envoy:first"));
}

TEST_CASE("webhook: an edit of the ConfigMap serves, a bad one does not", "[apiserver]") {
  const Webhook webhook("edited");
  const std::string path = "/api/v1/namespaces/default/configmaps/envoy-initializer";
  must(server().request("PUT", path, config_map("envoy:second")));
  CHECK(eventually([] { return Webhook::injected_image("edited") == "envoy:second"; }));
  must(server().request("PUT", path, config_map("''")));
  CHECK(eventually([&] { return webhook.log().find("template not usable") != std::string::npos; }));
  CHECK(Webhook::injected_image("edited") == "envoy:second");
}

TEST_CASE("webhook: a Namespace's opt-in counts, and its change too", "[apiserver]") {
  const Webhook webhook("namespaced");
  must(server().request("POST", "/api/v1/namespaces", R"({"apiVersion":"v1","kind":"Namespace",
    "metadata":{"name":"shop","labels":{"initializer.kubernetes.io/envoy":"true"}}})"));
  const auto containers = [] {
    const Json pod = parse(server()
                               .request("POST", "/api/v1/namespaces/shop/pods?dryRun=All",
                                        R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},
                                            "spec":{"containers":[{"name":"app","image":"nginx"}]}})")
                               .body);
    const Json* list = base::find(pod, "spec", "containers");
    return list == nullptr ? std::size_t{0} : list->size();
  };
  CHECK(eventually([&] { return containers() == 2; }));
  must(server().request("PATCH", "/api/v1/namespaces/shop",
                        R"({"metadata":{"labels":{"initializer.kubernetes.io/envoy":"false"}}})",
                        "application/merge-patch+json"));
  CHECK(eventually([&] { return containers() == 1; }));
}

TEST_CASE("webhook: a Pod with a clashing volume is denied with the way out", "[apiserver]") {
  const Webhook webhook("clash");
  const std::string path = "/api/v1/namespaces/default/configmaps/envoy-initializer";
  must(server().request(
      "PUT", path,
      codec::write_json(Json({{"apiVersion", "v1"},
                              {"kind", "ConfigMap"},
                              {"metadata", {{"name", "envoy-initializer"}}},
                              {"data",
                               {{"config",
                                 "containers:\n- {name: envoy, image: 'envoy:volume'}\nvolumes:\n"
                                 "- {name: envoy-conf, configMap: {name: envoy}}\n"}}}}))));
  REQUIRE(eventually([] { return Webhook::injected_image("clash") == "envoy:volume"; }));
  const auto denied = server().request("POST", kPods, R"({"apiVersion":"v1","kind":"Pod",
    "metadata":{"name":"clash","annotations":{"initializer.kubernetes.io/envoy":"true"}},
    "spec":{"containers":[{"name":"app","image":"nginx"}],
            "volumes":[{"name":"envoy-conf","emptyDir":{}}]}})");
  CHECK(denied.status == 422);
  CHECK_THAT(denied.body, Catch::Contains("denied the request") && Catch::Contains("envoy-conf"));
}

TEST_CASE("webhook: it keeps answering while the API server restarts, and follows it again",
          "[apiserver]") {
  const Webhook webhook("restart");
  server().kill_api_server();
  server().start_api_server();
  REQUIRE(eventually([] { return Webhook::injected_image("restart") == "envoy:first"; }));
  must(server().request("PUT", "/api/v1/namespaces/default/configmaps/envoy-initializer",
                        config_map("envoy:after")));
  CHECK(eventually([] { return Webhook::injected_image("restart") == "envoy:after"; }));
}

TEST_CASE("webhook: SIGTERM drains and exits 0", "[apiserver]") {
  Webhook webhook("stopping");
  webhook.process().signal(SIGTERM);
  CHECK(webhook.process().wait(std::chrono::seconds(60)) == 0);
  CHECK_THAT(webhook.log(), Catch::Contains("stopped"));
}

TEST_CASE("status: tells injected, outdated and missing Pods apart", "[apiserver]") {
  const auto create = [](const std::string& name, const std::string& annotations) {
    must(server().request("POST", kPods,
                          R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name +
                              R"(","annotations":{)" + annotations +
                              R"(}},"spec":{"containers":[{"name":"app","image":"nginx"}]}})"));
  };
  create("state-missing", R"("initializer.kubernetes.io/envoy":"true")");
  create("state-outdated",
         R"("initializer.kubernetes.io/envoy-status":"{\"template\":\"sha256:0\"}")");
  const TempDir dir;
  REQUIRE(run({.argv = {INJ_BINARY, "status", "-n", "default", "-o", "json", "--kubeconfig",
                        server().kubeconfig_path()},
               .log_file = file(dir, "out")}) == 0);
  INFO(read_file(file(dir, "out")));
  std::map<std::string, std::string> states;
  for (const Json& row : parse(read_file(file(dir, "out")))) {
    states[row.at("name").get<std::string>()] = row.at("state").get<std::string>();
  }
  CHECK(states["state-missing"] == "missing");
  CHECK(states["state-outdated"] == "outdated");
}

}  // namespace
}  // namespace injector::tests
