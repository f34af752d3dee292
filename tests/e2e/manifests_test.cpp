// manifests/ against a real API server: it accepts every object, and the roles suffice for the
// program to do its work, and for nothing else.

#include "tests/support/manifests.h"

#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "base/json.h"
#include "base/json_text.h"
#include "tests/e2e/installation.h"
#include "tests/support/child_process.h"
#include "tests/support/eventually.h"
#include "tests/support/free_port.h"
#include "tests/support/temp_dir.h"

namespace injector::tests {
namespace {

using base::Json;

constexpr const char* kKey = "initializer.kubernetes.io/envoy";

// Which the server of the tests (1.20) is too old or too new for, or which come from elsewhere.
const std::set<std::string> kNotHere = {"policy/v1", "cert-manager.io/v1",
                                        "monitoring.coreos.com/v1",
                                        "admissionregistration.k8s.io/v1alpha1"};

// 409: it is there already, which the server finds out after it has checked the object.
bool accepted(const ApiServer::Response& response, const Json& object) {
  if (kNotHere.contains(api_version(object))) {
    return response.status == 404;
  }
  return response.status == 201 || response.status == 409;
}

void check_accepted(const std::string& what, const std::vector<Json>& objects) {
  CHECK(!objects.empty());
  for (const Json& object : objects) {
    const auto response =
        server().request("POST", collection(object) + "?dryRun=All", base::write_json(object));
    INFO(what << ": " << kind_of(object) << " " << name_of(object) << ": " << response.body);
    CHECK(accepted(response, object));
  }
}

TEST_CASE("manifests: the API server accepts what every kustomization renders", "[apiserver]") {
  apply_manifests();
  for (const std::string& folder : kustomizations()) {
    check_accepted(folder, rendered(folder));
  }
}

TEST_CASE("manifests: the API server accepts the install with every component", "[apiserver]") {
  apply_manifests();
  for (const std::string& component : components()) {
    const TempDir dir;
    check_accepted(component, rendered(write_overlay(dir, {"."}, {component})));
  }
}

TEST_CASE("manifests: the API server accepts the examples", "[apiserver]") {
  apply_manifests();
  for (const char* file : {"template.yaml", "original/template.yaml", "original/envoy.yaml"}) {
    check_accepted(file, objects_of(read_file(manifest_path("examples/" + std::string(file)))));
  }
}

TEST_CASE("manifests: on Kubernetes 1.20 the components for old clusters are complete",
          "[apiserver]") {
  const TempDir dir;
  for (const Json& object : rendered(overlay_here(dir, {"."}))) {
    INFO(kind_of(object));
    CHECK(!kNotHere.contains(api_version(object)));
    CHECK(object.dump().find("matchConditions") == std::string::npos);
  }
}

int status_as_account(const std::string& method, const std::string& path,
                      const std::string& body = "") {
  return server().request_as(server().token_of(kAccount), method, path, body).status;
}

TEST_CASE("manifests: the roles allow the ConfigMaps, the Secret and the webhook configurations",
          "[apiserver]") {
  apply_manifests();
  const std::string space = "/api/v1/namespaces/envoy-initializer";
  const std::string only = "?fieldSelector=metadata.name%3D";
  CHECK(eventually([] { return status_as_account("GET", "/api/v1/namespaces") == 200; }));
  // Allowed, and not there.
  CHECK(status_as_account("GET", space + "/configmaps/envoy-initializer") == 404);
  CHECK(status_as_account("GET", space + "/configmaps/envoy-initializer-last-good") == 404);
  CHECK(status_as_account("GET", space + "/secrets/envoy-initializer-tls") == 404);
  CHECK(status_as_account("GET", space + "/configmaps" + only + "envoy-initializer") == 200);
  CHECK(status_as_account("GET", std::string(kConfigurations) + "/envoy-initializer") == 200);
  CHECK(status_as_account("GET",
                          "/apis/admissionregistration.k8s.io/v1/"
                          "validatingwebhookconfigurations/envoy-initializer") == 200);
  CHECK(status_as_account(
            "POST", "/api/v1/namespaces/default/events?dryRun=All",
            R"({"metadata":{"name":"e"},"involvedObject":{"namespace":"default"}})") == 201);
  CHECK(status_as_account("POST", space + "/configmaps?dryRun=All",
                          R"({"metadata":{"name":"envoy-initializer-last-good"}})") == 201);
  // A template is tried with a Pod of our own namespace.
  CHECK(status_as_account("POST", space + "/pods?dryRun=All",
                          base::write_json(plain_pod("envoy-initializer"))) == 201);
}

TEST_CASE("manifests: the roles allow nothing else", "[apiserver]") {
  apply_manifests();
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
  CHECK(status_as_account("PUT", space + "/configmaps/envoy-initializer", "{}") == 403);
  CHECK(status_as_account("DELETE", space + "/secrets/envoy-initializer-tls") == 403);
  CHECK(status_as_account("GET", space + "/pods") == 403);
  CHECK(status_as_account("POST", "/api/v1/namespaces/default/pods?dryRun=All",
                          base::write_json(plain_pod())) == 403);
}

// The example Pod, which asks by annotation, asks by label as well: the server is before 1.30.
Json example_pod() {
  Json pod = manifest("examples/pod.yaml", "Pod");
  pod["metadata"]["labels"][kKey] = "true";
  return pod;
}

// A Pod of a ReplicaSet, with a volume that the original sidecar cannot share.
Json conflicting_pod() {
  Json pod = example_pod();
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
  apply_manifests();
  const std::string original = manifest_path("examples/original/template.yaml");
  must_kubectl({"apply", "-f", original});
  ChildProcess webhook = start_webhook(dir);
  const std::vector<std::string> expected{"myapp-container", "envoy"};
  const bool injects = eventually(
      [&] { return !webhook.running() || create(example_pod()).containers == expected; });
  INFO(tail(dir.file("log")));
  REQUIRE(injects);
  REQUIRE(webhook.running());

  const Json refused = conflicting_pod();
  CHECK(server().request("POST", collection(refused), base::write_json(refused)).status == 422);
  CHECK(eventually([] { return has_event("VolumeConflict", "web-5d4f"); }));

  CHECK(webhook.stop() == 0);
  CHECK(read_file(dir.file("log")).find("orbidden") == std::string::npos);
  must_kubectl({"delete", "-f", original});
  must_kubectl({"delete", "mutatingwebhookconfiguration", "envoy-initializer"});
}

// As in the Pod, whose namespace is the one that leases are in.
std::string kubeconfig_in_our_namespace(const TempDir& dir, const std::string& user) {
  Json config = yaml::read_yaml(read_file(server().kubeconfig_of(user))).value().value;
  config["contexts"][0]["context"]["namespace"] = "envoy-initializer";
  return dir.write("kubeconfig", base::write_json(config));
}

std::vector<std::string> loop_command(const TempDir& dir, const std::string& component,
                                      const std::string& user) {
  std::vector<std::string> command =
      local_command(manifest("components/" + component + "/deployment.yaml", "Deployment"),
                    {{"--admin-listen", fmt::format("127.0.0.1:{}", free_port())}});
  command.push_back("--kubeconfig=" + kubeconfig_in_our_namespace(dir, user));
  return command;
}

std::size_t containers_of_stored(const Json& deployment) {
  const auto response = server().request("GET", path_of(deployment));
  const auto stored = base::read_json(response.body);
  const Json* spec = stored ? pod_spec(stored.value()) : nullptr;
  const Json* containers = spec == nullptr ? nullptr : base::find(*spec, "containers");
  return containers == nullptr ? 0 : containers->size();
}

// With a template of the user's, so that it is tried and kept.
void apply_template() {
  must_kubectl({"apply", "-f", manifest_path("examples/template.yaml")});
}

TEST_CASE("manifests: with the roles of components/workloads, the example Deployment is injected",
          "[apiserver]") {
  must_kubectl({"apply", "-k", manifest_path("workloads")});
  apply_template();
  const Json deployment = manifest("examples/deployment.yaml", "Deployment");
  must_create(deployment);
  const TempDir dir;
  ChildProcess loop{
      {.argv = loop_command(dir, "workloads", kWorkloadsAccount), .log_file = dir.file("log")}};
  const bool injected =
      eventually([&] { return !loop.running() || containers_of_stored(deployment) == 2; });
  INFO(tail(dir.file("log")));
  CHECK(loop.running());
  CHECK(injected);
  CHECK(containers_of_stored(deployment) == 2);
  CHECK(loop.stop() == 0);
  CHECK(read_file(dir.file("log")).find("orbidden") == std::string::npos);
}

TEST_CASE("manifests: with the roles of components/repair, a Pod without sidecar is told of",
          "[apiserver]") {
  apply_manifests({"components/repair"});
  must_kubectl({"delete", "mutatingwebhookconfiguration", "envoy-initializer"});
  apply_template();
  Json pod = manifest("examples/pod.yaml", "Pod");
  pod["metadata"]["name"] = "left-out";
  must_create(pod);
  const TempDir dir;
  ChildProcess loop{
      {.argv = loop_command(dir, "repair", kRepairAccount), .log_file = dir.file("log")}};
  const bool told =
      eventually([&] { return !loop.running() || has_event("SidecarMissing", "left-out"); });
  INFO(tail(dir.file("log")));
  CHECK(told);
  CHECK(loop.running());
  CHECK(loop.stop() == 0);
  CHECK(read_file(dir.file("log")).find("orbidden") == std::string::npos);
}

// The commented rules are for --repair=missing and outdated.
std::string with_eviction(const std::string& rbac) {
  std::string out;
  std::istringstream lines(rbac);
  for (std::string line; std::getline(lines, line);) {
    const bool commented = line.rfind("  # - ", 0) == 0 || line.rfind("  #   ", 0) == 0;
    out += (commented ? "  " + line.substr(4) : line) + "\n";
  }
  return out;
}

TEST_CASE("manifests: the commented rules of components/repair are what evicting takes",
          "[apiserver]") {
  const std::string pods = "/api/v1/namespaces/default/pods";
  const std::string pod = base::write_json(manifest("examples/pod.yaml", "Pod"));
  const std::string turns = std::string(kOurConfigMaps) + "/envoy-initializer-evictions";
  const auto status_of = [&](const std::string& method, const std::string& path,
                             const std::string& body) {
    return server().request_as(server().token_of(kRepairAccount), method, path, body).status;
  };
  const std::string eviction =
      R"({"apiVersion":"policy/v1beta1","kind":"Eviction","metadata":{"name":"absent"}})";
  CHECK(status_of("POST", pods + "/absent/eviction", eviction) == 403);
  CHECK(status_of("POST", pods + "?dryRun=All", pod) == 403);
  CHECK(status_of("GET", turns, "") == 403);
  const TempDir dir;
  must_kubectl({"apply", "-f",
                dir.write("rbac.yaml",
                          with_eviction(read_file(manifest_path("components/repair/rbac.yaml"))))});
  CHECK(eventually([&] { return status_of("POST", pods + "/absent/eviction", eviction) == 404; }));
  CHECK(eventually([&] { return status_of("POST", pods + "?dryRun=All", pod) == 201; }));
  CHECK(eventually([&] { return status_of("GET", turns, "") == 404; }));
  CHECK(status_of("POST", std::string(kOurConfigMaps) + "?dryRun=All",
                  R"({"metadata":{"name":"envoy-initializer-evictions"}})") == 201);
}

bool allowed(const std::string& verb, const std::string& resource) {
  const Json review{{"spec",
                     {{"user", kAccount},
                      {"resourceAttributes",
                       {{"namespace", "default"}, {"verb", verb}, {"resource", resource}}}}}};
  const auto response = server().request(
      "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", base::write_json(review));
  REQUIRE(response.status == 201);
  return base::read_json(response.body).value().at("status").at("allowed").get<bool>();
}

TEST_CASE("manifests: the roles of initializer/ are what that mode takes, and no more",
          "[apiserver]") {
  delete_manifests();
  must_kubectl({"apply", "-f", manifest_path("initializer/rbac.yaml")});
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
