// manifests/ against a real API server: it accepts every object, and the roles suffice for the
// program to do its work, and for nothing else.

#include "tests/support/manifests.h"

#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <unistd.h>
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
constexpr const char* kRepairAccount =
    "system:serviceaccount:envoy-initializer:envoy-initializer-repair";

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
// Services get addresses of this machine: who listens there stands for kube-proxy and the Pods.
ApiServer& server() {
  static ApiServer instance{
      {.users = {{.name = kAccount, .groups = {"system:serviceaccounts"}},
                 {.name = kWorkloadsAccount, .groups = {"system:serviceaccounts"}},
                 {.name = kRepairAccount, .groups = {"system:serviceaccounts"}}},
       .flags = {"--service-cluster-ip-range=127.96.0.0/16"}}};
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

// The objects of the base in the order of its kustomizations, for machines without kubectl. The
// base only collects files: there is nothing to render.
std::vector<Json> base_objects() {
  std::vector<Json> objects;
  for (const std::string folder : {"common/", "base/"}) {
    const Json list = manifest(folder + "kustomization.yaml", "Kustomization");
    for (const Json& entry : list.at("resources")) {
      const std::string file = entry.get<std::string>();
      if (file.find(".yaml") == std::string::npos) {
        continue;  // A folder: the one before.
      }
      for (Json& object : objects_of(read_file(manifest_path(folder + file)))) {
        objects.push_back(std::move(object));
      }
    }
  }
  return objects;
}

// kubectl, as a user types it. Empty where there is none.
std::optional<int> kubectl(const std::vector<std::string>& arguments, const std::string& log) {
  std::vector<std::string> command{"sh",      "-c",           "exec kubectl \"$@\"",
                                   "kubectl", "--kubeconfig", server().kubeconfig_path()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const int exit_code = run({.argv = command, .log_file = log});
  constexpr int kNoSuchProgram = 127;
  return exit_code == kNoSuchProgram ? std::nullopt : std::optional(exit_code);
}

// The server of the tests is too old for the base's PodDisruptionBudget; old-clusters is the base
// with another version of it.
void install_base(const TempDir& dir) {
  const std::string log = dir.file("apply.log");
  if (const auto applied = kubectl({"apply", "-k", manifest_path("overlays/old-clusters")}, log)) {
    INFO(read_file(log));
    REQUIRE(*applied == 0);
    return;
  }
  for (const Json& object : base_objects()) {
    const auto response = server().request("POST", collection(object), codec::write_json(object));
    INFO(kind_of(object) << " " << name_of(object) << ": " << response.body);
    REQUIRE(accepted(response, object));
  }
}

void remove_base(const TempDir& dir) {
  const std::string log = dir.file("delete.log");
  if (const auto deleted =
          kubectl({"delete", "--wait=false", "-k", manifest_path("overlays/old-clusters")}, log)) {
    INFO(read_file(log));
    REQUIRE(*deleted == 0);
    return;
  }
  for (const Json& object : base_objects()) {
    static_cast<void>(server().request("DELETE", collection(object) + "/" + name_of(object)));
  }
}

Json get(const std::string& path) {
  const auto response = server().request("GET", path);
  INFO(path << ": " << response.body);
  REQUIRE(response.status == 200);
  return codec::read_json(response.body).value();
}

// Port 443 of any address.
bool may_listen() {
  return ::geteuid() == 0;
}

// The base's Deployment as a process that stands where its Service points to.
ChildProcess start_base(const TempDir& dir, const std::string& address) {
  std::vector<std::string> command =
      local_command(manifest("base/deployment.yaml", "Deployment"),
                    {{"--listen", address + ":443"},
                     {"--admin-listen", fmt::format("127.0.0.1:{}", free_port())},
                     {"--namespace", "envoy-initializer"},  // What the kubelet makes of it.
                     {"--shutdown-delay", "0s"}});
  command.push_back("--kubeconfig=" + server().kubeconfig_of(kAccount));
  command.push_back("--force-manage-certs");  // This is no Pod.
  return ChildProcess{{.argv = command, .log_file = dir.file("log")}};
}

std::vector<std::string> names_in(const Json& containers) {
  std::vector<std::string> names;
  for (const Json& container : containers) {
    names.emplace_back(base::text_of(base::find(container, "name")));
  }
  return names;
}

void create_example_pod(const TempDir& dir) {
  const std::string log = dir.file("create.log");
  if (const auto created = kubectl({"create", "-f", manifest_path("examples/pod.yaml")}, log)) {
    INFO(read_file(log));
    REQUIRE(*created == 0);
    return;
  }
  must_create(server(), manifest("examples/pod.yaml", "Pod"));
}

// A Pod of a ReplicaSet, with a volume that the sidecar cannot share.
Json conflicting_pod() {
  Json pod = manifest("examples/pod.yaml", "Pod");
  pod["metadata"].erase("name");
  pod["metadata"]["generateName"] = "web-5d4f-";
  pod["metadata"]["ownerReferences"] =
      Json::array({{{"apiVersion", "apps/v1"},
                    {"kind", "ReplicaSet"},
                    {"name", "web-5d4f"},
                    {"uid", "9b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d"},
                    {"controller", true}}});
  pod["spec"]["volumes"] = Json::array({{{"name", "envoy-conf"}, {"emptyDir", Json::object()}}});
  return pod;
}

bool has_event(const std::string& reason, const std::string& about) {
  const Json events = get("/api/v1/namespaces/default/events");
  for (const Json& event : events.at("items")) {
    if (event.at("reason") == reason && event.at("involvedObject").at("name") == about) {
      return true;
    }
  }
  return false;
}

TEST_CASE("manifests: applied, with the Deployment's arguments and roles, they inject the example",
          "[apiserver]") {
  if (!may_listen()) {
    WARN("not checked: only root may listen on port 443");
    return;
  }
  const TempDir dir;
  install_base(dir);
  const Json service = get("/api/v1/namespaces/envoy-initializer/services/envoy-initializer");
  ChildProcess webhook = start_base(dir, service.at("spec").at("clusterIP").get<std::string>());
  const Json pod = manifest("examples/pod.yaml", "Pod");
  const std::vector<std::string> expected{"myapp-container", "envoy"};
  const bool injects = eventually([&] {
    return !webhook.running() ||
           container_names(pod) == std::set<std::string>(expected.begin(), expected.end());
  });
  INFO(tail(dir.file("log")));
  REQUIRE(injects);
  REQUIRE(webhook.running());

  create_example_pod(dir);
  const std::string path = collection(pod) + "/" + name_of(pod);
  CHECK(names_in(get(path).at("spec").at("containers")) == expected);
  CHECK(server().request("DELETE", path + "?gracePeriodSeconds=0").status == 200);

  const Json refused = conflicting_pod();
  CHECK(server().request("POST", collection(refused), codec::write_json(refused)).status == 422);
  CHECK(eventually([] { return has_event("VolumeConflict", "web-5d4f"); }));

  CHECK(webhook.stop() == 0);
  CHECK(read_file(dir.file("log")).find("orbidden") == std::string::npos);
  CHECK(server().request("DELETE", std::string(kConfigurations) + "/envoy-initializer").status ==
        200);
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

TEST_CASE("manifests: with the roles of overlays/repair, a Pod without sidecar is told of",
          "[apiserver]") {
  const std::string rbac = read_file(manifest_path("overlays/repair/rbac.yaml"));
  for (const Json& object : objects_of(rbac)) {
    must_create(server(), object);
  }
  Json pod = manifest("examples/pod.yaml", "Pod");
  pod["metadata"]["name"] = "left-out";
  must_create(server(), pod);
  const TempDir dir;
  std::vector<std::string> command =
      local_command(manifest("overlays/repair/deployment.yaml", "Deployment"),
                    {{"--admin-listen", fmt::format("127.0.0.1:{}", free_port())}});
  command.push_back("--kubeconfig=" + kubeconfig_in_our_namespace(dir, kRepairAccount));
  ChildProcess loop{{.argv = command, .log_file = dir.file("log")}};
  const bool told =
      eventually([&] { return !loop.running() || has_event("SidecarMissing", "left-out"); });
  INFO(tail(dir.file("log")));
  CHECK(told);
  CHECK(loop.running());
  CHECK(loop.stop() == 0);
  CHECK(read_file(dir.file("log")).find("orbidden") == std::string::npos);
}

// The commented rules are for --repair=evict.
std::string with_eviction(const std::string& rbac) {
  std::string out;
  std::istringstream lines(rbac);
  for (std::string line; std::getline(lines, line);) {
    const bool commented = line.rfind("  # - ", 0) == 0 || line.rfind("  #   ", 0) == 0;
    out += (commented ? "  " + line.substr(4) : line) + "\n";
  }
  return out;
}

TEST_CASE("manifests: the commented rules of overlays/repair are what evicting takes",
          "[apiserver]") {
  const std::string pods = "/api/v1/namespaces/default/pods";
  const std::string pod = codec::write_json(manifest("examples/pod.yaml", "Pod"));
  const auto status_of = [&](const std::string& path, const std::string& body) {
    return server().request_as(server().token_of(kRepairAccount), "POST", path, body).status;
  };
  const std::string eviction =
      R"({"apiVersion":"policy/v1beta1","kind":"Eviction","metadata":{"name":"absent"}})";
  CHECK(status_of(pods + "/absent/eviction", eviction) == 403);
  CHECK(status_of(pods + "?dryRun=All", pod) == 403);
  for (const Json& object :
       objects_of(with_eviction(read_file(manifest_path("overlays/repair/rbac.yaml"))))) {
    if (kind_of(object) == "ClusterRole") {
      REQUIRE(
          server()
              .request("PUT", collection(object) + "/" + name_of(object), codec::write_json(object))
              .status == 200);
    }
  }
  CHECK(eventually([&] { return status_of(pods + "/absent/eviction", eviction) == 404; }));
  CHECK(eventually([&] { return status_of(pods + "?dryRun=All", pod) == 201; }));
}

bool is_gone(const Json& object) {
  return server().request("GET", collection(object) + "/" + name_of(object)).status == 404;
}

// What the program makes there itself goes with the namespace.
TEST_CASE("manifests: deleted, they leave nothing behind", "[apiserver]") {
  const TempDir dir;
  install_base(dir);
  const std::string secret = "/api/v1/namespaces/envoy-initializer/secrets";
  const auto made = server().request(
      "POST", secret, R"({"metadata":{"name":"left-by-a-test"},"stringData":{"key":"value"}})");
  REQUIRE(made.status == 201);
  server().start_controller_manager();
  remove_base(dir);
  for (const Json& object : base_objects()) {
    INFO(kind_of(object) << " " << name_of(object));
    CHECK(eventually([&] { return is_gone(object); }));
  }
  CHECK(server().request("GET", secret + "/left-by-a-test").status == 404);
  server().stop_controller_manager();
}

bool allowed(const std::string& verb, const std::string& resource) {
  const Json review{{"spec",
                     {{"user", kAccount},
                      {"resourceAttributes",
                       {{"namespace", "default"}, {"verb", verb}, {"resource", resource}}}}}};
  const auto response = server().request(
      "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", codec::write_json(review));
  REQUIRE(response.status == 201);
  return codec::read_json(response.body).value().at("status").at("allowed").get<bool>();
}

TEST_CASE("manifests: the roles of initializer/ are what that mode takes, and no more",
          "[apiserver]") {
  must_create_all(server(), "common/namespace.yaml");
  must_create_all(server(), "initializer/rbac.yaml");
  CHECK(eventually([] { return allowed("initialize", "pods"); }));
  for (const char* verb : {"get", "list", "watch", "patch"}) {
    CHECK(allowed(verb, "pods"));
  }
  for (const char* verb : {"create", "update", "delete"}) {
    CHECK_FALSE(allowed(verb, "pods"));
  }
  CHECK(allowed("watch", "namespaces"));
  CHECK(allowed("create", "events"));
  CHECK_FALSE(allowed("get", "secrets"));
}

}  // namespace
}  // namespace injector::tests
