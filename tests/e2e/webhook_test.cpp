// The binary as a webhook of a real API server: registered, called, followed.

#include <chrono>
#include <csignal>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <httplib.h>

#include "base/base64.h"
#include "base/json.h"
#include "base/json_text.h"
#include "tests/support/api_server.h"
#include "tests/support/child_process.h"
#include "tests/support/eventually.h"
#include "tests/support/files.h"
#include "tests/support/free_port.h"
#include "tests/support/paths.h"
#include "tests/support/temp_dir.h"

namespace injector::tests {
namespace {

using base::Json;

constexpr const char* kPods = "/api/v1/namespaces/default/pods";
constexpr const char* kConfigMaps = "/api/v1/namespaces/default/configmaps";
constexpr const char* kTemplate = "/api/v1/namespaces/default/configmaps/envoy-initializer";
constexpr const char* kLastGood =
    "/api/v1/namespaces/default/configmaps/envoy-initializer-last-good";
constexpr const char* kRegistrations = "/apis/admissionregistration.k8s.io/v1/";

ApiServer& server() {
  static ApiServer instance{{.users = {{.name = "injector"}}}};
  return instance;
}

std::string file(const TempDir& dir, const std::string& name) {
  return (dir.path() / name).string();
}

Json parse(const std::string& text) {
  return base::read_json(text).value();
}

Json must(const ApiServer::Response& response) {
  INFO(response.body);
  REQUIRE(response.status >= 200);
  REQUIRE(response.status < 300);
  return parse(response.body);
}

std::string config_map_of(const std::string& tpl) {
  return base::write_json(Json({{"apiVersion", "v1"},
                                {"kind", "ConfigMap"},
                                {"metadata", {{"name", "envoy-initializer"}}},
                                {"data", {{"config", tpl}}}}));
}

std::string config_map(const std::string& image) {
  return config_map_of("containers:\n- name: envoy\n  image: " + image + "\n");
}

// RBAC for exactly what the webhook needs: the template, its last good one, a Pod in a dry run, and
// Namespaces.
void grant() {
  static const bool kDone = [] {
    const char* const role = R"({"kind":"Role","apiVersion":"rbac.authorization.k8s.io/v1",
      "metadata":{"name":"injector"},"rules":[{"apiGroups":[""],"resources":["configmaps"],
      "resourceNames":["envoy-initializer"],"verbs":["get","list","watch"]},
      {"apiGroups":[""],"resources":["configmaps"],
      "resourceNames":["envoy-initializer-last-good"],"verbs":["get","update"]},
      {"apiGroups":[""],"resources":["configmaps","pods"],"verbs":["create"]}]})";
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
      : Webhook(name, config_map("envoy:first")) {
    REQUIRE(eventually([&] { return injected_image("probe-" + name_) == "envoy:first"; }));
  }

  // On that ConfigMap, or none; does not wait for anything.
  Webhook(const std::string& name, const std::optional<std::string>& config)
      : name_(name),
        port_(free_port()),
        admin_port_(free_port()) {
    grant();
    static_cast<void>(server().request("DELETE", kTemplate));
    static_cast<void>(server().request("DELETE", kLastGood));
    if (config) {
      must(server().request("POST", kConfigMaps, *config));
    }
    make_certificate();
    start();
    register_webhook();
  }

  void start() {
    process_.reset();
    process_.emplace(ChildProcess::Command{
        .argv = {kProgram, "webhook", "--listen", "127.0.0.1:" + std::to_string(port_),
                 "--admin-listen", "127.0.0.1:" + std::to_string(admin_port_), "--tls-cert",
                 file(dir_, "certs/tls.crt"), "--tls-key", file(dir_, "certs/tls.key"),
                 "--configmap", "default/envoy-initializer", "--kubeconfig",
                 server().kubeconfig_of("injector"), "--shutdown-delay", "100ms"},
        .log_file = file(dir_, "log")});
  }

  ~Webhook() {
    for (const char* kind : {"mutating", "validating"}) {
      static_cast<void>(server().request("DELETE", configurations(kind) + "/" + name_));
    }
  }

  Webhook(const Webhook&) = delete;
  Webhook& operator=(const Webhook&) = delete;

  ChildProcess& process() { return *process_; }

  // As the validating webhook of ConfigMaps.
  void register_validation() {
    must(server().request(
        "POST", configurations("validating"),
        base::write_json(Json({{"apiVersion", "admissionregistration.k8s.io/v1"},
                               {"kind", "ValidatingWebhookConfiguration"},
                               {"metadata", {{"name", name_}}},
                               {"webhooks", Json::array({entry("/validate", "configmaps",
                                                               {"CREATE", "UPDATE"})})}}))));
  }

  // A page of the admin port; empty if nobody answers.
  std::string page(const std::string& path) const {
    httplib::Client client("127.0.0.1", admin_port_);
    const auto answer = client.Get(path.c_str());
    return answer ? answer->body : std::string();
  }

  bool ready() const {
    httplib::Client client("127.0.0.1", admin_port_);
    const auto answer = client.Get("/readyz");
    return answer && answer->status == 200;
  }

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
        server().request("POST", std::string(kPods) + "?dryRun=All", base::write_json(object));
    if (response.status != 201) {
      return {};
    }
    const Json created = parse(response.body);
    const Json& containers = created.at("spec").at("containers");
    return containers.size() < 2 ? std::string() : containers.at(1).at("image").get<std::string>();
  }

 private:
  static std::string configurations(const std::string& kind) {
    return kRegistrations + kind + "webhookconfigurations";
  }

  void make_certificate() {
    REQUIRE(run({.argv = {kProgram, "certs", "--dns", "127.0.0.1", "--out", file(dir_, "certs")},
                 .log_file = file(dir_, "certs.log")}) == 0);
  }

  Json entry(const std::string& path, const std::string& resource,
             const std::vector<std::string>& operations) const {
    const std::string ca = read_file(file(dir_, "certs/ca.crt"));
    return Json({{"name", name_ + ".initializer.kubernetes.io"},
                 {"clientConfig",
                  {{"url", "https://127.0.0.1:" + std::to_string(port_) + path},
                   {"caBundle", base::base64_encode(ca)}}},
                 {"rules", Json::array({Json({{"apiGroups", Json::array({""})},
                                              {"apiVersions", Json::array({"v1"})},
                                              {"operations", operations},
                                              {"resources", Json::array({resource})}})})},
                 {"admissionReviewVersions", {"v1", "v1beta1"}},
                 {"sideEffects", "NoneOnDryRun"},
                 {"failurePolicy", "Fail"},
                 {"timeoutSeconds", 5}});
  }

  void register_webhook() {
    must(server().request(
        "POST", configurations("mutating"),
        base::write_json(
            Json({{"apiVersion", "admissionregistration.k8s.io/v1"},
                  {"kind", "MutatingWebhookConfiguration"},
                  {"metadata", {{"name", name_}}},
                  {"webhooks", Json::array({entry("/mutate", "pods", {"CREATE"})})}}))));
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
  REQUIRE(run({.argv = {kProgram, "inject", "-f", data_path("fixtures/envoy/pod.yaml"),
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

constexpr const char* kPlainPod = R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},
  "spec":{"containers":[{"name":"app","image":"nginx"}]}})";

// A Pod that says nothing itself, by server-side dry run; 0: it was not allowed.
std::size_t containers_of_plain_pod(const std::string& name_space) {
  const auto created =
      server().request("POST", "/api/v1/namespaces/" + name_space + "/pods?dryRun=All", kPlainPod);
  const auto pod = base::read_json(created.body);
  const Json* list = pod ? base::find(pod.value(), "spec", "containers") : nullptr;
  return list == nullptr ? 0 : list->size();
}

void create_namespace(const std::string& name) {
  must(server().request("POST", "/api/v1/namespaces",
                        fmt::format(R"({{"metadata":{{"name":"{}"}}}})", name)));
}

void label_namespace(const std::string& name) {
  must(server().request("PATCH", "/api/v1/namespaces/" + name,
                        R"({"metadata":{"labels":{"initializer.kubernetes.io/envoy":"true"}}})",
                        "application/merge-patch+json"));
}

TEST_CASE("webhook: label the Namespace, then create the Pod: none of 200 is missed",
          "[apiserver]") {
  const Webhook webhook("labelled");
  int missed = 0;
  for (int i = 0; i < 200; ++i) {
    const std::string name = fmt::format("fresh-{}", i);
    create_namespace(name);
    label_namespace(name);
    missed += containers_of_plain_pod(name) == 2 ? 0 : 1;
  }
  CHECK(missed == 0);
}

TEST_CASE("webhook: no Pod of a freshly labelled Namespace is missed after the API server was away",
          "[apiserver]") {
  const Webhook webhook("away");
  for (int i = 0; i < 20; ++i) {
    create_namespace(fmt::format("away-{}", i));
  }
  const auto cache_age = [&] {
    const std::string name = "\nenvoy_initializer_namespace_cache_age_seconds ";
    const std::string page = webhook.page("/metrics");
    const std::size_t at = page.find(name);
    return at == std::string::npos ? -1 : std::stod(page.substr(at + name.size()));
  };
  REQUIRE(eventually([&] { return cache_age() == 0; }));
  server().kill_api_server();
  REQUIRE(eventually([&] { return cache_age() >= 15; }));
  CHECK_THAT(webhook.page("/readyz?verbose"), Catch::Contains("[!]namespaces update failed"));
  CHECK(webhook.ready());
  server().start_api_server();
  int missed = 0;
  for (int i = 0; i < 20; ++i) {
    const std::string name = fmt::format("away-{}", i);
    label_namespace(name);
    missed += containers_of_plain_pod(name) == 2 ? 0 : 1;
  }
  CHECK(missed == 0);
}

TEST_CASE("webhook: a replica that starts while the ConfigMap is bad serves the last good template",
          "[apiserver]") {
  Webhook webhook("lastgood");
  REQUIRE(eventually([] { return server().request("GET", kLastGood).status == 200; }));
  must(server().request("PUT", kTemplate, config_map("envoy:second")));
  REQUIRE(eventually([] { return Webhook::injected_image("kept") == "envoy:second"; }));
  REQUIRE(eventually([] {
    return server().request("GET", kLastGood).body.find("envoy:second") != std::string::npos;
  }));
  must(server().request("PUT", kTemplate, config_map("''")));
  webhook.start();
  REQUIRE(eventually([&] { return webhook.ready(); }));
  CHECK(Webhook::injected_image("kept") == "envoy:second");
  CHECK_THAT(webhook.page("/readyz?verbose"), Catch::Contains("[!]template update failed") &&
                                                  Catch::Contains("the last good template serves"));
  CHECK(server().request("GET", kLastGood).body.find("envoy:second") != std::string::npos);

  must(server().request("PUT", kTemplate, config_map("envoy:third")));
  CHECK(eventually([] { return Webhook::injected_image("kept") == "envoy:third"; }));
  CHECK(
      eventually([&] { return webhook.page("/readyz?verbose").find("[!]") == std::string::npos; }));
}

TEST_CASE("webhook: the last good template is written once for equal content", "[apiserver]") {
  Webhook webhook("equal");
  const auto version = [] {
    const Json object = parse(server().request("GET", kLastGood).body);
    return std::string(base::text_of(base::find(object, "metadata", "resourceVersion")));
  };
  REQUIRE(eventually([&] { return !version().empty(); }));
  const std::string before = version();
  webhook.start();
  REQUIRE(eventually([&] { return webhook.ready(); }));
  CHECK(Webhook::injected_image("equal") == "envoy:first");
  CHECK(version() == before);
}

TEST_CASE("webhook: without the ConfigMap the built-in template serves; one that comes is followed",
          "[apiserver]") {
  const Webhook webhook("builtin", std::nullopt);
  REQUIRE(eventually([&] { return webhook.ready(); }));
  const std::string image = Webhook::injected_image("builtin");
  CHECK_FALSE(image.empty());
  CHECK_THAT(webhook.page("/readyz?verbose"),
             Catch::Contains("configmap default/envoy-initializer does not exist"));
  CHECK_THAT(webhook.log(), Catch::Contains("does not exist: the built-in template serves"));

  must(server().request("POST", kConfigMaps, config_map("envoy:late")));
  CHECK(eventually([] { return Webhook::injected_image("builtin") == "envoy:late"; }));
  must(server().request("DELETE", kTemplate));
  CHECK(eventually([&] { return Webhook::injected_image("builtin") == image; }));
}

TEST_CASE("webhook: a Pod that asks for nothing is allowed without a template", "[apiserver]") {
  const Webhook webhook("untemplated", config_map("''"));
  REQUIRE(eventually([&] { return containers_of_plain_pod("default") == 1; }));
  REQUIRE(eventually([&] { return webhook.log().find("not usable") != std::string::npos; }));
  CHECK_FALSE(webhook.ready());
  CHECK(containers_of_plain_pod("default") == 1);
  const auto asking = server().request("POST", std::string(kPods) + "?dryRun=All",
                                       R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p",
    "annotations":{"initializer.kubernetes.io/envoy":"true"}},
    "spec":{"containers":[{"name":"app","image":"nginx"}]}})");
  CHECK(asking.status == 500);
  CHECK_THAT(asking.body, Catch::Contains("failed calling webhook"));
}

TEST_CASE("webhook: a bad template is refused when it is applied, with all that is wrong",
          "[apiserver]") {
  Webhook webhook("validated");
  webhook.register_validation();
  const std::string bad = "containers:\n- name: Envoy!\n  imagee: envoy:1\n";
  ApiServer::Response refused;
  REQUIRE(eventually([&] {
    refused = server().request("PUT", kTemplate, config_map_of(bad));
    return refused.status != 200;
  }));
  CHECK(refused.status == 422);
  CHECK_THAT(refused.body, Catch::Contains("denied the request") &&
                               Catch::Contains("line 2: containers[0].name") &&
                               Catch::Contains("line 3: containers[0].imagee") &&
                               Catch::Contains("containers[0].image: missing"));
  must(server().request("PUT", kTemplate, config_map("envoy:fine")));
  CHECK(eventually([] { return Webhook::injected_image("validated") == "envoy:fine"; }));
  must(server().request("DELETE", kTemplate));
  CHECK(server().request("POST", kConfigMaps, config_map_of(bad)).status == 422);
  must(server().request("POST", kConfigMaps,
                        R"({"metadata":{"name":"not-ours"},"data":{"config":"containers: 1"}})"));
}

TEST_CASE("webhook: a template that the API server refuses does not serve", "[apiserver]") {
  const Webhook webhook("tried");
  // This server is older than the volume's kind and drops it, so that the volume is without any.
  must(server().request(
      "PUT", kTemplate,
      config_map_of("containers:\n- {name: envoy, image: 'envoy:refused'}\nvolumes:\n"
                    "- {name: scratch, ephemeral: {volumeClaimTemplate: {spec: {accessModes: "
                    "[ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}}\n")));
  REQUIRE(eventually([&] { return webhook.log().find("refuses a Pod") != std::string::npos; }));
  CHECK(Webhook::injected_image("tried") == "envoy:first");
  CHECK_THAT(webhook.page("/readyz?verbose"),
             Catch::Contains("[!]template update failed") && Catch::Contains("volumes[0]"));
  CHECK(server().request("GET", kLastGood).body.find("envoy:refused") == std::string::npos);
  must(server().request("PUT", kTemplate, config_map("envoy:accepted")));
  CHECK(eventually([] { return Webhook::injected_image("tried") == "envoy:accepted"; }));
}

TEST_CASE("webhook: a Pod with a clashing volume is denied with the way out", "[apiserver]") {
  const Webhook webhook("clash");
  const std::string path = "/api/v1/namespaces/default/configmaps/envoy-initializer";
  must(server().request(
      "PUT", path,
      base::write_json(Json({{"apiVersion", "v1"},
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
  REQUIRE(run({.argv = {kProgram, "status", "-n", "default", "-o", "json", "--kubeconfig",
                        server().kubeconfig_path()},
               .log_file = file(dir, "out")}) == 0);
  INFO(read_file(file(dir, "out")));
  std::map<std::string, std::string> states;
  const Json report = parse(read_file(file(dir, "out")));
  for (const Json& row : report.at("pods")) {
    states[row.at("name").get<std::string>()] = row.at("state").get<std::string>();
  }
  CHECK(states["state-missing"] == "missing");
  CHECK(states["state-outdated"] == "outdated");
}

}  // namespace
}  // namespace injector::tests
