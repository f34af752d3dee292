// The binary's cluster commands against a scripted API server: what they ask, what they print, how
// they end.

#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "app/admin_address.h"
#include "base/json.h"
#include "tests/support/child_process.h"
#include "tests/support/fake_api.h"
#include "tests/support/files.h"
#include "tests/support/free_port.h"
#include "tests/support/paths.h"
#include "tests/support/temp_dir.h"

namespace injector::tests {
namespace {

using namespace std::chrono_literals;

using base::Json;

struct Outcome {
  int code = 0;
  std::string text;  // stdout and stderr.

  [[nodiscard]] bool says(const std::string& part) const {
    return text.find(part) != std::string::npos;
  }
};

// The deadline is far below the minute that used to pass, and far above what a busy machine needs.
Outcome run_binary(std::vector<std::string> arguments, const std::string& url) {
  const TempDir dir;
  const std::string kubeconfig = dir.write("kubeconfig", R"({"current-context":"c",
    "contexts":[{"name":"c","context":{"cluster":"k","user":"u","namespace":"shop"}}],
    "clusters":[{"name":"k","cluster":{"server":")" + url + R"("}}],
    "users":[{"name":"u","user":{}}]})");
  arguments.insert(arguments.begin(), kProgram);
  arguments.insert(arguments.end(), {"--kubeconfig", kubeconfig});
  const int code = run({.argv = arguments, .log_file = dir.file("log")}, 40s);
  return {code, read_file(dir.file("log"))};
}

std::string list_of(const std::string& items) {
  return R"({"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[)" +
         items + "]}";
}

constexpr const char* kAskingPod = R"({"metadata":{"name":"web-0","namespace":"shop",
  "annotations":{"initializer.kubernetes.io/envoy":"true"}},
  "spec":{"containers":[{"name":"app","image":"app"}]}})";

FakeApi::Handler refuse_all(int code, const std::string& reason) {
  return
      [code, reason](const FakeApi::Request&, FakeApi::Peer& peer) { peer.refuse(code, reason); };
}

// Answers what `paths` says, by the path without its query; the rest is forbidden.
FakeApi::Handler only(std::vector<std::pair<std::string, std::string>> paths) {
  return [paths = std::move(paths)](const FakeApi::Request& request, FakeApi::Peer& peer) {
    const std::string path = request.target.substr(0, request.target.find('?'));
    for (const auto& [known, answer] : paths) {
      if (path == known) {
        peer.respond(200, answer);
        return;
      }
    }
    peer.refuse(403, "Forbidden");
  };
}

}  // namespace

TEST_CASE("status: a refusal is told at once, in the server's words", "[process]") {
  for (const auto& [code, reason] :
       std::vector<std::pair<int, std::string>>{{401, "Unauthorized"}, {403, "Forbidden"}}) {
    const FakeApi api(refuse_all(code, reason), FakeApi::Security::Plain);
    const Outcome outcome = run_binary({"status"}, api.url());
    INFO(outcome.text);
    CHECK(outcome.code == 1);
    CHECK(outcome.says(reason));
    CHECK(outcome.says("/api/v1/namespaces/shop/pods"));
  }
}

TEST_CASE("status: a server that is not there is told at once", "[process]") {
  const Outcome outcome = run_binary({"status"}, fmt::format("http://127.0.0.1:{}", free_port()));
  INFO(outcome.text);
  CHECK(outcome.code == 1);
  CHECK(outcome.says("refused"));
}

TEST_CASE("status: the right to read Pods of the namespace is enough", "[process]") {
  const FakeApi api(only({{"/api/v1/namespaces/shop/pods", list_of(kAskingPod)}}),
                    FakeApi::Security::Plain);
  const Outcome outcome = run_binary({"status", "-n", "shop"}, api.url());
  INFO(outcome.text);
  CHECK(outcome.code == 0);
  CHECK(outcome.says("asked 1: injected 0, outdated 0, missing 1 (of 1 Pods)"));
  CHECK(outcome.says("template: built-in template (sha256:"));
  CHECK(outcome.says("the cluster's own is not known"));
  CHECK(outcome.says("--configmap NS/NAME"));
  CHECK(outcome.says("note: what the Namespace says is not known"));
  for (const FakeApi::Request& request : api.requests()) {
    INFO(request.target);
    CHECK(request.target.rfind("/api/v1/pods", 0) != 0);
    CHECK(request.target.rfind("/api/v1/namespaces?", 0) != 0);
  }
}

std::string config_map(const std::string& name, const std::string& tpl) {
  return base::to_text(Json({{"apiVersion", "v1"},
                             {"kind", "ConfigMap"},
                             {"metadata", {{"name", name}, {"namespace", "envoy-initializer"}}},
                             {"data", {{"config", tpl}}}}));
}

constexpr const char* kMaps = "/api/v1/namespaces/envoy-initializer/configmaps/";
constexpr const char* kMine = "containers: [{name: mine, image: mine}]\n";

TEST_CASE("status: compares with the cluster's template, and says so", "[process]") {
  const FakeApi api(
      only({{"/api/v1/namespaces/shop/pods", list_of(kAskingPod)},
            {std::string(kMaps) + "envoy-initializer", config_map("envoy-initializer", kMine)}}),
      FakeApi::Security::Plain);
  const Outcome table = run_binary({"status"}, api.url());
  INFO(table.text);
  CHECK(table.says("template: configmap envoy-initializer/envoy-initializer (sha256:"));
  const Outcome json = run_binary({"status", "-o", "json"}, api.url());
  CHECK(json.says(R"("template": "configmap envoy-initializer/envoy-initializer (sha256:)"));
}

TEST_CASE("status: of a template that cannot be used, the last good one counts", "[process]") {
  const FakeApi api(only({{"/api/v1/namespaces/shop/pods", list_of(kAskingPod)},
                          {std::string(kMaps) + "envoy-initializer",
                           config_map("envoy-initializer", "containers: [{image: x}]")},
                          {std::string(kMaps) + "envoy-initializer-last-good",
                           config_map("envoy-initializer-last-good", kMine)}}),
                    FakeApi::Security::Plain);
  const Outcome outcome = run_binary({"status"}, api.url());
  INFO(outcome.text);
  CHECK(outcome.code == 0);
  CHECK(outcome.says("template: configmap envoy-initializer/envoy-initializer-last-good (sha256:"));
  CHECK(outcome.says("configmap envoy-initializer/envoy-initializer cannot be used: "));
}

TEST_CASE("status: --exit-code tells that something is missing", "[process]") {
  const FakeApi api(only({{"/api/v1/namespaces/shop/pods", list_of(kAskingPod)},
                          {"/api/v1/namespaces/calm/pods", list_of("")}}),
                    FakeApi::Security::Plain);
  CHECK(run_binary({"status", "--exit-code"}, api.url()).code == 3);
  CHECK(run_binary({"status"}, api.url()).code == 0);
  CHECK(run_binary({"status", "--exit-code", "-n", "calm"}, api.url()).code == 0);
}

TEST_CASE("webhook: --manage-certs is refused outside the cluster", "[process]") {
  const FakeApi api(refuse_all(404, "NotFound"), FakeApi::Security::Plain);
  const TempDir dir;
  const std::string config = dir.write("t.yaml", "containers: [{name: envoy, image: e}]\n");
  const Outcome outcome = run_binary({"webhook", "--config", config, "--listen", "127.0.0.1:0",
                                      "--admin-listen", "127.0.0.1:0", "--manage-certs"},
                                     api.url());
  INFO(outcome.text);
  CHECK(outcome.code == 1);
  CHECK(outcome.says("--force-manage-certs"));
  CHECK(outcome.says("--standalone"));
  CHECK(api.requests().empty());
}

TEST_CASE("webhook: the admin port of --standalone is for this machine only", "[process]") {
  CHECK(app::admin_address("", true) == "127.0.0.1:8080");
  CHECK(app::admin_address("", false) == ":8080");
  CHECK(app::admin_address(":9000", true) == ":9000");
}

TEST_CASE("uninject: files or live objects, and nothing in between", "[process]") {
  const FakeApi api(refuse_all(404, "NotFound"), FakeApi::Security::Plain);
  CHECK(run_binary({"uninject"}, api.url()).code == 2);
  CHECK(run_binary({"uninject", "-f", "x.yaml", "--live", "deployment/web"}, api.url()).code == 2);
  CHECK(run_binary({"uninject", "--live", "deployment/web", "--in-place"}, api.url()).code == 2);
  const Outcome missing = run_binary({"uninject", "--live", "deployment/web"}, api.url());
  CHECK(missing.code == 1);
  CHECK(missing.says("error: deployment/web: "));
  const Outcome odd = run_binary({"uninject", "--live", "thing/web"}, api.url());
  CHECK(odd.code == 1);
  CHECK(odd.says("rollouts.argoproj.io"));
}

TEST_CASE("explain: files or live objects, and nothing in between", "[process]") {
  const FakeApi api(refuse_all(404, "NotFound"), FakeApi::Security::Plain);
  CHECK(run_binary({"explain"}, api.url()).code == 2);
  CHECK(run_binary({"explain", "pod/web", "-f", "x.yaml"}, api.url()).code == 2);
}

TEST_CASE("explain: the live Namespace counts for files with --live", "[process]") {
  const FakeApi api(only({{"/api/v1/namespaces/shop",
                           R"({"kind":"Namespace","metadata":{"name":"shop","labels":{)"
                           R"("initializer.kubernetes.io/envoy":"true"}}})"}}),
                    FakeApi::Security::Plain);
  const TempDir dir;
  const std::string file = dir.write("pod.yaml", R"(apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
spec: {containers: [{name: app, image: app}]}
)");
  const Outcome live = run_binary({"explain", "-f", file, "--live"}, api.url());
  INFO(live.text);
  CHECK(live.code == 0);
  CHECK(live.says("(by namespace label)"));
  CHECK(run_binary({"explain", "-f", file}, api.url()).says("NotRequested"));
}

TEST_CASE("lint: --server prints what the API server says", "[process]") {
  const FakeApi api(
      [](const FakeApi::Request& request, FakeApi::Peer& peer) {
        if (request.target == "/version") {
          peer.respond(200, R"({"major":"1","minor":"30"})");
          return;
        }
        CHECK(request.target == "/api/v1/namespaces/shop/pods?dryRun=All");
        peer.respond(422, R"({"kind":"Status","code":422,"reason":"Invalid",
          "message":"Pod \"p\" is invalid: spec.containers[1].image: odd","details":{"causes":[
          {"field":"spec.containers[1].image","message":"odd"}]}})");
      },
      FakeApi::Security::Plain);
  const TempDir dir;
  const std::string file = dir.write("t.yaml", "containers: [{name: envoy, image: e}]\n");
  const Outcome outcome = run_binary({"lint", file, "--server"}, api.url());
  INFO(outcome.text);
  CHECK(outcome.code == 1);
  CHECK(outcome.says(file + ": containers[0].image: odd\n"));
}

}  // namespace injector::tests
