// manifests/ against a real API server: it accepts every object, and the roles suffice for the
// program to do its work, and for nothing else.

#include "tests/support/manifests.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "base/base64.h"
#include "base/json.h"
#include "codec/json.h"
#include "tests/support/api_server.h"
#include "tests/support/child_process.h"
#include "tests/support/eventually.h"
#include "tests/support/free_port.h"
#include "tests/support/temp_dir.h"

namespace injector::tests {
namespace {

using base::Json;

constexpr const char* kConfigurations =
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
constexpr const char* kAccount = "system:serviceaccount:envoy-initializer:envoy-initializer";
constexpr const char* kWorkloadsAccount =
    "system:serviceaccount:envoy-initializer:envoy-initializer-workloads";

// Which the server of the tests (1.20) is too old or too new for, or which come from elsewhere.
const std::set<std::string> kNotHere = {"policy/v1", "cert-manager.io/v1",
                                        "admissionregistration.k8s.io/v1alpha1"};

const std::map<std::string, std::string> kNamespaced = {
    {"ServiceAccount", "serviceaccounts"},
    {"Role", "roles"},
    {"RoleBinding", "rolebindings"},
    {"ConfigMap", "configmaps"},
    {"Service", "services"},
    {"PodDisruptionBudget", "poddisruptionbudgets"},
    {"Deployment", "deployments"},
    {"Pod", "pods"},
    {"Issuer", "issuers"},
    {"Certificate", "certificates"}};

const std::map<std::string, std::string> kClusterWide = {
    {"Namespace", "namespaces"},
    {"ClusterRole", "clusterroles"},
    {"ClusterRoleBinding", "clusterrolebindings"},
    {"InitializerConfiguration", "initializerconfigurations"},
    {"MutatingWebhookConfiguration", "mutatingwebhookconfigurations"}};

std::string api_version(const Json& object) {
  return std::string(base::text_of(base::find(object, "apiVersion")));
}

std::string name_of(const Json& object) {
  return std::string(base::text_of(base::find(object, "metadata", "name")));
}

// Where objects of this kind are created. Throws std::out_of_range for a kind not listed above.
std::string collection(const Json& object) {
  const std::string version = api_version(object);
  const std::string root = version == "v1" ? "/api/v1" : "/apis/" + version;
  const std::string kind = kind_of(object);
  if (const auto found = kClusterWide.find(kind); found != kClusterWide.end()) {
    return root + "/" + found->second;
  }
  const std::string_view space = base::text_of(base::find(object, "metadata", "namespace"));
  return fmt::format("{}/namespaces/{}/{}", root, space.empty() ? "default" : space,
                     kNamespaced.at(kind));
}

void must_create(const ApiServer& server, const Json& object) {
  const auto response = server.request("POST", collection(object), codec::write_json(object));
  INFO(kind_of(object) << " " << name_of(object) << ": " << response.body);
  REQUIRE(response.status == 201);
}

void must_create_all(const ApiServer& server, const std::string& file) {
  for (const Json& object : objects_of(read_file(manifest_path(file)))) {
    must_create(server, object);
  }
}

// The namespace, the template and the roles of the base are there for good; nothing else is.
ApiServer& server() {
  static ApiServer instance{
      {.users = {{.name = kAccount, .groups = {"system:serviceaccounts"}},
                 {.name = kWorkloadsAccount, .groups = {"system:serviceaccounts"}}}}};
  static const bool kInstalled = [] {
    for (const char* file : {"common/namespace.yaml", "common/configmap.yaml", "common/envoy.yaml",
                             "base/rbac.yaml", "base/rbac-certificates.yaml"}) {
      must_create_all(instance, file);
    }
    return true;
  }();
  static_cast<void>(kInstalled);
  return instance;
}

std::optional<std::vector<Json>> rendered(const std::string& folder) {
  const TempDir dir;
  const std::string out = dir.file("out");
  const int exit_code =
      run({.argv = {"sh", "-c", "kubectl kustomize \"$0\"", folder}, .log_file = out});
  constexpr int kNoSuchProgram = 127;
  if (exit_code == kNoSuchProgram) {
    return std::nullopt;
  }
  const std::string text = read_file(out);
  INFO(folder << ": " << text);
  REQUIRE(exit_code == 0);
  return objects_of(text);
}

// 409: it is there already, which the server finds out after it has checked the object.
bool accepted(const ApiServer::Response& response, const Json& object) {
  if (kNotHere.contains(api_version(object))) {
    return response.status == 404;
  }
  return response.status == 201 || response.status == 409;
}

TEST_CASE("manifests: the API server accepts what every kustomization renders", "[apiserver]") {
  for (const std::string& folder : kustomizations()) {
    const auto objects = rendered(folder);
    if (!objects) {
      WARN("not checked: there is no kubectl here to render " << folder);
      return;
    }
    CHECK(objects->size() >= 2);
    for (const Json& object : *objects) {
      const auto response =
          server().request("POST", collection(object) + "?dryRun=All", codec::write_json(object));
      INFO(folder << ": " << kind_of(object) << " " << name_of(object) << ": " << response.body);
      CHECK(accepted(response, object));
    }
  }
}

TEST_CASE("manifests: on Kubernetes 1.20 the overlay for old clusters is complete", "[apiserver]") {
  const auto objects = rendered(manifest_path("overlays/old-clusters"));
  if (!objects) {
    WARN("not checked: there is no kubectl here to render it");
    return;
  }
  for (const Json& object : *objects) {
    INFO(kind_of(object));
    CHECK(!kNotHere.contains(api_version(object)));
  }
}

int status_as_account(const std::string& method, const std::string& path,
                      const std::string& body = "") {
  return server().request_as(server().token_of(kAccount), method, path, body).status;
}

TEST_CASE("manifests: the roles allow the one ConfigMap, Secret and webhook configuration",
          "[apiserver]") {
  const std::string space = "/api/v1/namespaces/envoy-initializer";
  const std::string only = "?fieldSelector=metadata.name%3D";
  CHECK(status_as_account("GET", space + "/configmaps/envoy-initializer") == 200);
  CHECK(status_as_account("GET", space + "/configmaps" + only + "envoy-initializer") == 200);
  CHECK(status_as_account("GET", space + "/secrets/envoy-initializer-tls") == 404);
  // Allowed, and not there yet.
  CHECK(status_as_account("GET", std::string(kConfigurations) + "/envoy-initializer") == 404);
  CHECK(status_as_account("GET", "/api/v1/namespaces") == 200);
  CHECK(status_as_account(
            "POST", "/api/v1/namespaces/default/events?dryRun=All",
            R"({"metadata":{"name":"e"},"involvedObject":{"namespace":"default"}})") == 201);
}

TEST_CASE("manifests: the roles allow nothing else", "[apiserver]") {
  const std::string space = "/api/v1/namespaces/envoy-initializer";
  for (const std::string& path :
       {space + "/configmaps", space + "/configmaps/other", space + "/secrets",
        space + "/secrets/other", std::string("/api/v1/namespaces/default/configmaps/envoy"),
        std::string("/api/v1/secrets"), std::string("/api/v1/pods"), std::string(kConfigurations),
        std::string(kConfigurations) + "/other"}) {
    INFO(path);
    CHECK(status_as_account("GET", path) == 403);
  }
  CHECK(status_as_account("DELETE", space + "/configmaps/envoy-initializer") == 403);
  CHECK(status_as_account("DELETE", space + "/secrets/envoy-initializer-tls") == 403);
}

// The arguments of a Deployment, for a process of this machine.
std::vector<std::string> local_command(const Json& deployment,
                                       const std::map<std::string, std::string>& changes) {
  std::vector<std::string> command{INJ_BINARY};
  for (const std::string& argument : arguments_of(deployment)) {
    const auto change = changes.find(argument.substr(0, argument.find('=')));
    command.push_back(change == changes.end() ? argument : change->first + "=" + change->second);
  }
  return command;
}

// The manifests' webhook configuration, with an address of this machine for the Service's.
Json local_configuration(int port, const std::string& ca) {
  Json configuration = manifest("base/webhook.yaml", "MutatingWebhookConfiguration");
  configuration["webhooks"][0]["clientConfig"] = {
      {"url", fmt::format("https://127.0.0.1:{}/mutate", port)},
      {"caBundle", base::base64_encode(ca)}};
  return configuration;
}

// Those of the Pod as the server would store it; empty while the webhook does not answer.
std::set<std::string> container_names(const Json& pod) {
  const auto response =
      server().request("POST", collection(pod) + "?dryRun=All", codec::write_json(pod));
  std::set<std::string> names;
  if (response.status != 201) {
    return names;
  }
  const Json stored = codec::read_json(response.body).value();
  for (const Json& container : stored.at("spec").at("containers")) {
    names.emplace(base::text_of(base::find(container, "name")));
  }
  return names;
}

TEST_CASE("manifests: with their arguments and their roles alone, the example Pod is injected",
          "[apiserver]") {
  const TempDir dir;
  const std::string certs = dir.file("certs");
  REQUIRE(run({.argv = {INJ_BINARY, "certs", "--dns", "127.0.0.1", "--out", certs},
               .log_file = dir.file("certs.log")}) == 0);
  const int port = free_port();
  std::vector<std::string> command =
      local_command(manifest("overlays/cert-manager/deployment.yaml", "Deployment"),
                    {{"--listen", fmt::format("127.0.0.1:{}", port)},
                     {"--admin-listen", fmt::format("127.0.0.1:{}", free_port())},
                     {"--tls-cert", certs + "/tls.crt"},
                     {"--tls-key", certs + "/tls.key"},
                     {"--shutdown-delay", "0s"}});
  command.push_back("--kubeconfig=" + server().kubeconfig_of(kAccount));
  ChildProcess webhook{{.argv = command, .log_file = dir.file("log")}};
  must_create(server(), local_configuration(port, read_file(certs + "/ca.crt")));

  const Json pod = manifest("examples/pod.yaml", "Pod");
  const bool injected = eventually([&] {
    return !webhook.running() ||
           container_names(pod) == std::set<std::string>{"envoy", "myapp-container"};
  });
  INFO(tail(dir.file("log")));
  CHECK(webhook.running());
  CHECK(injected);
  CHECK(webhook.stop() == 0);

  // Without the webhook: failurePolicy Fail stops Pods, but not those of our own namespace.
  CHECK(container_names(pod).empty());
  Json own = pod;
  own["metadata"]["namespace"] = "envoy-initializer";
  CHECK(container_names(own) == std::set<std::string>{"myapp-container"});
  CHECK(server().request("DELETE", std::string(kConfigurations) + "/envoy-initializer").status ==
        200);
}

bool has_command(const std::string& command) {
  const TempDir dir;
  return run({.argv = {INJ_BINARY, command, "--help"}, .log_file = dir.file("help")}) == 0 &&
         read_file(dir.file("help")).find("envoy-initializer " + command) != std::string::npos;
}

// As in the Pod, whose namespace is the one that leases are in.
std::string kubeconfig_in_our_namespace(const TempDir& dir, const std::string& user) {
  Json config = codec::read_yaml(read_file(server().kubeconfig_of(user))).value().value;
  config["contexts"][0]["context"]["namespace"] = "envoy-initializer";
  return dir.write("kubeconfig", codec::write_json(config));
}

std::size_t containers_of_stored(const Json& deployment) {
  const auto response = server().request("GET", collection(deployment) + "/" + name_of(deployment));
  const auto stored = codec::read_json(response.body);
  const Json* spec = stored ? pod_spec(stored.value()) : nullptr;
  const Json* containers = spec == nullptr ? nullptr : base::find(*spec, "containers");
  return containers == nullptr ? 0 : containers->size();
}

TEST_CASE("manifests: with the roles of overlays/workloads, the example Deployment is injected",
          "[apiserver]") {
  if (!has_command("initializer")) {
    WARN("not checked: this program has no command initializer");
    return;
  }
  must_create_all(server(), "overlays/workloads/rbac.yaml");
  const Json deployment = manifest("examples/deployment.yaml", "Deployment");
  must_create(server(), deployment);
  const TempDir dir;
  std::vector<std::string> command =
      local_command(manifest("overlays/workloads/deployment.yaml", "Deployment"),
                    {{"--admin-listen", fmt::format("127.0.0.1:{}", free_port())}});
  command.push_back("--kubeconfig=" + kubeconfig_in_our_namespace(dir, kWorkloadsAccount));
  ChildProcess loop{{.argv = command, .log_file = dir.file("log")}};
  const bool injected =
      eventually([&] { return !loop.running() || containers_of_stored(deployment) == 2; });
  INFO(tail(dir.file("log")));
  CHECK(loop.running());
  CHECK(injected);
  CHECK(containers_of_stored(deployment) == 2);
  CHECK(read_file(dir.file("log")).find("orbidden") == std::string::npos);
  CHECK(loop.stop() == 0);
}

}  // namespace
}  // namespace injector::tests
