// status, explain OBJECT, uninject --live and lint --server on a real API server, as people with
// few rights use them.

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "base/json.h"
#include "base/json_text.h"
#include "tests/support/api_server.h"
#include "tests/support/child_process.h"
#include "tests/support/eventually.h"
#include "tests/support/files.h"
#include "tests/support/paths.h"
#include "tests/support/temp_dir.h"

namespace injector::tests {
namespace {

using base::Json;

constexpr const char* kReader = "pod-reader";
constexpr const char* kStranger = "stranger";

ApiServer& server() {
  static ApiServer instance{{.users = {{.name = kReader}, {.name = kStranger}}}};
  return instance;
}

void post(const std::string& path, const Json& object) {
  const auto answer = server().request("POST", path, base::to_text(object));
  INFO(answer.body);
  REQUIRE(answer.status == 201);
}

void make_namespace(const std::string& name) {
  post("/api/v1/namespaces", Json({{"metadata", {{"name", name}}}}));
}

Json json(const std::string& text) {
  return base::read_json(text).value();
}

Json asking_pod(const std::string& name) {
  Json pod = json(R"({"metadata":{"annotations":{"initializer.kubernetes.io/envoy":"true"}},
    "spec":{"containers":[{"name":"app","image":"app:1"}]}})");
  pod["metadata"]["name"] = name;
  return pod;
}

Json deployment(const std::string& name) {
  Json object = json(R"({"apiVersion":"apps/v1","kind":"Deployment",
    "spec":{"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{
    "labels":{"app":"web"},"annotations":{"initializer.kubernetes.io/envoy":"true"}},
    "spec":{"containers":[{"name":"app","image":"app:1"}]}}}})");
  object["metadata"]["name"] = name;
  return object;
}

// Pods of one namespace, and nothing else.
void allow_reading_pods(const std::string& name_space) {
  const std::string base = "/apis/rbac.authorization.k8s.io/v1/namespaces/" + name_space + "/";
  post(base + "roles", json(R"({"metadata":{"name":"pods"},"rules":[
    {"apiGroups":[""],"resources":["pods"],"verbs":["get","list"]}]})"));
  post(base + "rolebindings",
       Json({{"metadata", {{"name", "pods"}}},
             {"roleRef",
              {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "Role"}, {"name", "pods"}}},
             {"subjects", Json::array({Json({{"apiGroup", "rbac.authorization.k8s.io"},
                                             {"kind", "User"},
                                             {"name", kReader}})})}}));
}

struct Outcome {
  int code = 0;
  std::string text;

  [[nodiscard]] bool says(const std::string& part) const {
    return text.find(part) != std::string::npos;
  }
};

Outcome run_as(const std::string& kubeconfig, std::vector<std::string> arguments) {
  const TempDir dir;
  arguments.insert(arguments.begin(), kProgram);
  arguments.insert(arguments.end(), {"--kubeconfig", kubeconfig});
  const int code = run({.argv = arguments, .log_file = dir.file("log")});
  return {code, read_file(dir.file("log"))};
}

Outcome run_binary(std::vector<std::string> arguments) {
  return run_as(server().kubeconfig_path(), std::move(arguments));
}

// As workloads mode does it: a sidecar that no kubectl apply knows of.
void inject_live(const std::string& name_space, const std::string& name) {
  const TempDir dir;
  const std::string tpl = dir.write("t.yaml", "containers: [{name: envoy, image: 'envoy:1'}]\n");
  const Outcome done = run_binary({"controller", "--mode", "workloads", "--once", "--resources",
                                   "deployments", "--config", tpl, "-n", name_space});
  INFO(done.text);
  REQUIRE(done.code == 0);
  REQUIRE(
      json(server()
               .request("GET", "/apis/apps/v1/namespaces/" + name_space + "/deployments/" + name)
               .body)
          .at("spec")
          .at("template")
          .at("spec")
          .at("containers")
          .size() == 2);
}

}  // namespace

TEST_CASE("status: works for a user who may read Pods of one namespace only", "[apiserver]") {
  make_namespace("narrow");
  allow_reading_pods("narrow");
  post("/api/v1/namespaces/narrow/pods", asking_pod("web"));
  const std::string reader = server().kubeconfig_of(kReader);
  Outcome outcome;
  REQUIRE(eventually([&] {  // RBAC is read with a delay.
    outcome = run_as(reader, {"status", "-n", "narrow", "--exit-code"});
    return outcome.code != 1;
  }));
  INFO(outcome.text);
  CHECK(outcome.code == 3);
  CHECK(outcome.says("narrow     pod/web  0/1       0         1\n"));
  const Outcome all = run_as(reader, {"status", "-A"});
  CHECK(all.code == 1);
  CHECK(all.says("pods is forbidden"));
  const Outcome stranger = run_as(server().kubeconfig_of(kStranger), {"status", "-n", "narrow"});
  CHECK(stranger.code == 1);
  CHECK(stranger.says("User \"stranger\" cannot list resource \"pods\""));
}

TEST_CASE("status: by label, by jsonpath, and as it changes", "[apiserver]") {
  make_namespace("watched");
  Json pod = asking_pod("first");
  pod["metadata"]["labels"]["app"] = "web";
  post("/api/v1/namespaces/watched/pods", pod);
  post("/api/v1/namespaces/watched/pods", asking_pod("other"));
  CHECK(run_binary(
            {"status", "-n", "watched", "-l", "app=web", "-o", R"(jsonpath={.pods[*].name}{"\n"})"})
            .text == "first\n");
  CHECK(run_binary({"status", "-n", "watched", "--show-all", "-o", "name"}).text ==
        "pod/first\npod/other\n");
  const TempDir dir;
  ChildProcess watch{{.argv = {kProgram, "status", "-n", "watched", "-w", "--kubeconfig",
                               server().kubeconfig_path()},
                      .log_file = dir.file("log")}};
  const auto shows = [&](const std::string& text) {
    return eventually([&] { return read_file(dir.file("log")).find(text) != std::string::npos; });
  };
  CHECK(shows("(of 2 Pods)\n"));
  post("/api/v1/namespaces/watched/pods", asking_pod("later"));
  CHECK(shows("(of 2 Pods)\nwatched    pod/later  0/1       0         1\n"));
}

TEST_CASE("status: a key on a Deployment's own metadata is found", "[apiserver]") {
  make_namespace("misplaced");
  Json object = deployment("web");
  object["metadata"]["annotations"] = object["spec"]["template"]["metadata"]["annotations"];
  object["spec"]["template"]["metadata"].erase("annotations");
  post("/apis/apps/v1/namespaces/misplaced/deployments", object);
  const Outcome outcome = run_binary({"status", "-n", "misplaced"});
  INFO(outcome.text);
  CHECK(outcome.code == 0);
  CHECK(outcome.says("warning: deployment/web in namespace misplaced: MisplacedKey: "));
}

TEST_CASE("explain: a live Pod's rule, its webhook and its state are told", "[apiserver]") {
  make_namespace("live");
  post("/api/v1/namespaces/live/pods", asking_pod("web"));
  const Outcome without = run_binary({"explain", "pod/web", "pod/none", "-n", "live"});
  INFO(without.text);
  CHECK(without.code == 1);
  CHECK(without.says("pod/web in namespace live\n"));
  CHECK(without.says("decided by:   pod annotation\n"));
  CHECK(without.says("not injected: it has no status annotation"));
  CHECK(without.says("no webhook is registered"));
  CHECK(without.says("error: pod/none: "));
  const char* configurations =
      "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
  post(configurations, json(R"({"metadata":{"name":"envoy-initializer"},"webhooks":[{
    "name":"envoy.initializer.kubernetes.io","admissionReviewVersions":["v1"],"sideEffects":"None",
    "failurePolicy":"Ignore","clientConfig":{"service":{"namespace":"live","name":"x"}},
    "objectSelector":{"matchLabels":{"initializer.kubernetes.io/envoy":"true"}},
    "rules":[{"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"],
    "operations":["CREATE"]}]}]})"));
  const Outcome with = run_binary({"explain", "pod/web", "-n", "live"});
  CHECK(server().request("DELETE", std::string(configurations) + "/envoy-initializer").status ==
        200);
  INFO(with.text);
  CHECK(with.code == 0);
  CHECK(with.says("envoy.initializer.kubernetes.io: called: no: objectSelector: "));
  CHECK(with.says("caBundle: missing"));
}

TEST_CASE("explain: a live Deployment of another template is outdated", "[apiserver]") {
  make_namespace("outdated");
  post("/apis/apps/v1/namespaces/outdated/deployments", deployment("web"));
  inject_live("outdated", "web");
  const Outcome outcome = run_binary({"explain", "deploy/web", "-n", "outdated"});
  INFO(outcome.text);
  CHECK(outcome.code == 0);
  CHECK(outcome.says("template: built-in template (sha256:"));
  CHECK(outcome.says("outdated: the current one is sha256:"));
}

TEST_CASE("uninject: --live takes out of a Deployment exactly what was put in", "[apiserver]") {
  make_namespace("undo");
  const std::string path = "/apis/apps/v1/namespaces/undo/deployments/web";
  post("/apis/apps/v1/namespaces/undo/deployments", deployment("web"));
  const Json before = json(server().request("GET", path).body);
  inject_live("undo", "web");
  const Json injected = json(server().request("GET", path).body);
  const Outcome dry =
      run_binary({"uninject", "--live", "deployment/web", "-n", "undo", "--dry-run"});
  INFO(dry.text);
  CHECK(dry.code == 0);
  CHECK(base::same(json(server().request("GET", path).body), injected));
  const Outcome outcome = run_binary({"uninject", "--live", "deployment/web", "-n", "undo"});
  INFO(outcome.text);
  CHECK(outcome.code == 0);
  CHECK(outcome.says("deployment/web: uninjected (envoy)\n"));
  const Json after = json(server().request("GET", path).body);
  CHECK(base::same(after.at("spec"), before.at("spec")));
}

TEST_CASE("uninject: --live patches custom resources by merge patch", "[apiserver]") {
  post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
       json(R"({"metadata":{"name":"rollouts.example.com"},"spec":{"group":"example.com",
    "scope":"Namespaced","names":{"plural":"rollouts","singular":"rollout","kind":"Rollout"},
    "versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{
    "type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}})"));
  make_namespace("custom");
  Json object = deployment("web");
  object["apiVersion"] = "example.com/v1";
  object["kind"] = "Rollout";
  const std::string collection = "/apis/example.com/v1/namespaces/custom/rollouts";
  REQUIRE(eventually(
      [&] { return server().request("POST", collection, base::to_text(object)).status == 201; }));
  const Json before = json(server().request("GET", collection + "/web").body);
  const Outcome injected = run_binary({"controller", "--mode", "workloads", "--once", "--resources",
                                       "example.com/rollouts", "-n", "custom"});
  INFO(injected.text);
  REQUIRE(injected.code == 0);
  CHECK_FALSE(base::same(json(server().request("GET", collection + "/web").body).at("spec"),
                         before.at("spec")));
  const Outcome outcome =
      run_binary({"uninject", "--live", "rollout.example.com/web", "-n", "custom"});
  INFO(outcome.text);
  CHECK(outcome.code == 0);
  CHECK(base::same(json(server().request("GET", collection + "/web").body).at("spec"),
                   before.at("spec")));
}

TEST_CASE("lint: --server says whether the API server accepts, and whether it could be asked",
          "[apiserver]") {
  const TempDir dir;
  const std::string good = dir.write("good.yaml", "containers: [{name: envoy, image: 'e:1'}]\n");
  const Outcome fine = run_binary({"lint", "--server", "-n", "default", good});
  INFO(fine.text);
  CHECK(fine.code == 0);
  CHECK(fine.says("accepted by the API server"));
  const Outcome stranger =
      run_as(server().kubeconfig_of(kStranger), {"lint", "--server", "-n", "default", good});
  CHECK(stranger.code == 1);
  CHECK(stranger.says("not checked by the API server"));
}

}  // namespace injector::tests
