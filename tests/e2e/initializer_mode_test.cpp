// The control loop as a process in initializer mode, on an API server of 1.13 as far as it can
// tell.

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
#include <httplib.h>

#include "base/json_text.h"
#include "tests/support/child_process.h"
#include "tests/support/eventually.h"
#include "tests/support/free_port.h"
#include "tests/support/initializer_server.h"
#include "tests/support/paths.h"
#include "tests/support/temp_dir.h"

namespace injector::tests {
namespace {

using base::Json;

constexpr const char* kOurs = "envoy.initializer.kubernetes.io";
constexpr const char* kOther = "other.initializer.example.com";

constexpr const char* kSidecar =
    "containers: [{name: envoy, image: 'envoy:1', volumeMounts: "
    "[{name: conf, mountPath: /etc/envoy}]}]\n"
    "volumes: [{name: conf, configMap: {name: envoy}}]\n";

Json json(const std::string& text) {
  return base::read_json(text).value();
}

Json pod(const std::string& name, bool asks = true) {
  Json object = json(R"({"apiVersion":"v1","kind":"Pod",
    "spec":{"containers":[{"name":"app","image":"app:1"}]}})");
  object["metadata"]["name"] = name;
  if (asks) {
    object["metadata"]["annotations"]["initializer.kubernetes.io/envoy"] = "true";
  }
  return object;
}

/// `envoy-initializer controller`: what to do it finds out. It dies with the case.
class Loop {
 public:
  explicit Loop(const InitializerServer& server, std::vector<std::string> more = {},
                const std::string& sidecar = kSidecar)
      : config_(dir_.write("template.yaml", sidecar)),
        port_(free_port()),
        command_{kProgram,   "controller", "--kubeconfig",   server.kubeconfig(),
                 "--config", config_,      "--admin-listen", "127.0.0.1:" + std::to_string(port_),
                 "--qps",    "0"} {
    command_.insert(command_.end(), more.begin(), more.end());
    start();
  }

  void start() { process_.emplace(ChildProcess::Command{command_, dir_.file("log"), {}}); }

  /// kill -9.
  void kill() { process_.reset(); }

  /// Its exit code, if it ends by itself.
  [[nodiscard]] int wait() { return process_->wait(std::chrono::minutes(1)).value_or(-1); }

  [[nodiscard]] int stop() { return process_->stop(); }

  [[nodiscard]] std::string log() const { return tail(dir_.file("log"), 40); }

  [[nodiscard]] bool says(const std::string& text) const {
    return tail(dir_.file("log"), 100'000).find(text) != std::string::npos;
  }

  [[nodiscard]] bool ready() const {
    httplib::Client client("127.0.0.1", port_);
    const auto answer = client.Get("/readyz");
    return answer && answer->status == 200;
  }

  [[nodiscard]] bool shows(const std::string& line) const {
    httplib::Client client("127.0.0.1", port_);
    const auto answer = client.Get("/metrics");
    return answer && answer->body.find(line + "\n") != std::string::npos;
  }

 private:
  TempDir dir_;
  std::string config_;
  int port_;
  std::vector<std::string> command_;
  std::optional<ChildProcess> process_;
};

struct Reply {
  int code = 0;
  Json body;
};

/// Somebody who creates Pods and waits for them, on a connection of their own.
class Creator {
 public:
  explicit Creator(const InitializerServer& server)
      : client_(server.url()) {
    client_.set_ca_cert_path(TestCertificates::authority().c_str());
    client_.set_keep_alive(true);
    client_.set_read_timeout(std::chrono::minutes(10));
  }

  Reply create(const Json& pod, const std::string& query = "?timeout=300s") {
    const std::string path = "/api/v1/namespaces/shop/pods" + query;
    const auto result = client_.Post(path.c_str(), base::write_json(pod), "application/json");
    return result ? Reply{result->status, base::read_json(result->body).value()} : Reply{};
  }

 private:
  httplib::Client client_;
};

std::size_t containers(const Json& pod) {
  const Json* list = base::find(pod, "spec", "containers");
  return list == nullptr ? 0 : list->size();
}

// 10 creators of 100 Pods each, all waiting for theirs; every fifth Pod does not ask. `meanwhile`
// runs in the test's own thread.
void create_a_thousand(InitializerServer& server, const std::function<void()>& meanwhile) {
  constexpr int kCreators = 10;
  constexpr int kEach = 100;
  std::atomic<int> with = 0;
  std::atomic<int> without = 0;
  {
    std::vector<std::jthread> creators;
    for (int number = 0; number < kCreators; ++number) {
      creators.emplace_back([&, number] {
        Creator creator(server);
        for (int count = 0; count < kEach; ++count) {
          const std::string name = "p" + std::to_string(number) + "-" + std::to_string(count);
          const Reply reply = creator.create(pod(name, count % 5 != 0));
          with += reply.code == 201 && containers(reply.body) == 2 && count % 5 != 0 ? 1 : 0;
          without += reply.code == 201 && containers(reply.body) == 1 && count % 5 == 0 ? 1 : 0;
        }
      });
    }
    meanwhile();
  }
  CHECK(with == kCreators * kEach * 4 / 5);
  CHECK(without == kCreators * kEach / 5);
  CHECK(server.model().patch_answers()[200] == kCreators * kEach);  // One for each Pod.
  for (const auto& [name, times] : server.model().injections()) {
    INFO(name);
    CHECK(times <= 1);
  }
  CHECK(server.model().list({"pods"}).body.at("items").size() == kCreators * kEach);
}

}  // namespace

TEST_CASE("initializer mode: a thousand pods, none lost, none twice", "[process]") {
  InitializerServer server;
  server.model().configure({kOurs});
  Loop loop(server);
  create_a_thousand(server, [] {});
  INFO(loop.log());
  CHECK(loop.says("looking after waiting pods"));
  CHECK(loop.stop() == 0);
  CHECK(server.model().patch_answers().size() == 1);  // Not one PATCH in vain.
}

TEST_CASE("initializer mode: nor when the loop is killed and answers get lost", "[process]") {
  InitializerServer server;
  server.model().configure({kOurs});
  server.lose_answers(7);
  Loop loop(server);
  create_a_thousand(server, [&] {
    for (const int patches : {100, 400, 700}) {
      server.model().wait_for_patches(patches);
      loop.kill();
      loop.start();
    }
  });
  INFO(loop.log());
  CHECK(loop.stop() == 0);
}

TEST_CASE("initializer mode: nor when two of them run at once", "[process]") {
  InitializerServer server;
  server.model().configure({kOurs});
  Loop one(server);
  Loop two(server);
  create_a_thousand(server, [] {});
  // Whoever is second at a Pod finds that out by its PATCH. That is no error.
  CHECK_FALSE(one.says(" ERROR "));
  CHECK_FALSE(two.says(" ERROR "));
  CHECK_FALSE(one.says("pod refused"));
  CHECK_FALSE(two.says("pod refused"));
}

TEST_CASE("initializer mode: a sidecar beyond the quota is refused with the server's words",
          "[process]") {
  InitializerServer server;
  server.model().configure({kOurs});
  server.model().exhaust_quota();
  Loop loop(server);
  const Reply refused = Creator(server).create(pod("web"));
  CHECK(refused.code == 422);
  const std::string message(base::text_of(base::find(refused.body, "message")));
  INFO(message);
  CHECK(message.find("exceeded quota: compute") != std::string::npos);
  CHECK(server.model().get("shop", "web").code == 404);  // It uses no quota any more.
  CHECK(Creator(server).create(pod("bare", false)).code == 201);
}

TEST_CASE("initializer mode: leads by a lease of v1beta1 where there is no other", "[process]") {
  InitializerServer server;
  server.model().configure({kOurs});
  Loop loop(server, {"--leader-elect"});
  CHECK(Creator(server).create(pod("web")).code == 201);
  CHECK(eventually([&] { return loop.ready(); }));
  CHECK(loop.stop() == 0);
}

TEST_CASE("initializer mode: is not ready while it cannot take part in the election", "[process]") {
  InitializerServer server;
  server.model().configure({kOurs});
  server.forbid_leases();
  Loop loop(server, {"--leader-elect"});
  REQUIRE(eventually([&] { return loop.says("lease not held"); }));
  CHECK_FALSE(loop.ready());
  CHECK(loop.stop() == 0);
}

TEST_CASE("initializer mode: warnings reach the log and the Pod's Events", "[process]") {
  InitializerServer server;
  server.model().configure({kOurs});
  Loop loop(server);
  Json misspelt = pod("web", false);
  misspelt["metadata"]["annotations"]["initializer.kubernetes.io/envoi"] = "true";
  CHECK(containers(Creator(server).create(misspelt).body) == 1);
  CHECK(eventually([&] { return loop.says("MisspeltKey"); }));
  REQUIRE(eventually([&] { return !server.events().empty(); }));
  CHECK(base::text_of(base::find(server.events().front(), "reason")) == "MisspeltKey");
}

TEST_CASE("initializer mode: a native sidecar is refused, as this server would drop it",
          "[process]") {
  InitializerServer server;
  server.model().configure({kOurs});
  Loop loop(server, {},
            "initContainers: [{name: envoy, image: 'envoy:1', restartPolicy: Always}]\n");
  REQUIRE(eventually([&] { return loop.says("restartPolicy: Always needs Kubernetes 1.29"); }));
  CHECK_FALSE(loop.ready());
  CHECK(Creator(server).create(pod("bare", false)).code == 201);  // It asked for nothing.
}

TEST_CASE("initializer mode: pods that wait already are picked up", "[process]") {
  InitializerServer server;
  server.model().configure({kOurs});
  Creator creator(server);
  CHECK(creator.create(pod("early"), "?includeUninitialized=true").code == 202);
  Loop loop(server);
  REQUIRE(eventually([&] {
    return base::find(server.model().get("shop", "early").body, "metadata", "initializers") ==
           nullptr;
  }));
  CHECK(containers(server.model().get("shop", "early").body) == 2);
}

TEST_CASE("initializer mode: a pod that does not ask loses its entry and nothing else",
          "[process]") {
  InitializerServer server;
  server.model().configure({kOurs});
  Loop loop(server);
  const Json asked = pod("bare", false);
  const Reply made = Creator(server).create(asked);
  CHECK(made.code == 201);
  CHECK(base::same(made.body.at("spec"), asked.at("spec")));
  CHECK(base::find(made.body, "metadata", "annotations") == nullptr);
}

TEST_CASE("initializer mode: without --require-annotation everybody gets the sidecar",
          "[process]") {
  InitializerServer server;
  server.model().configure({kOurs});
  Loop loop(server, {"--require-annotation=false"});
  CHECK(containers(Creator(server).create(pod("bare", false)).body) == 2);
  Json out = pod("out");
  out["metadata"]["annotations"]["initializer.kubernetes.io/envoy"] = "false";
  CHECK(containers(Creator(server).create(out).body) == 1);
}

TEST_CASE("initializer mode: the creator of a refused pod is told why", "[process]") {
  InitializerServer server;
  server.model().configure({kOurs});
  Loop loop(server);
  Json clash = pod("clash");
  clash["spec"]["volumes"] = json(R"([{"name":"conf","emptyDir":{}}])");
  const Reply refused = Creator(server).create(clash);
  CHECK(refused.code == 422);
  const std::string message(base::text_of(base::find(refused.body, "message")));
  CHECK(message.find("clash") != std::string::npos);
  CHECK(message.find("conf") != std::string::npos);
  CHECK(server.model().get("shop", "clash").code == 404);
  CHECK(eventually([&] { return !server.events().empty(); }));
  CHECK(base::text_of(base::find(server.events().front(), "reason")) == "Refused");
}

TEST_CASE("initializer mode: others come first, and their entries stay", "[process]") {
  InitializerServer server;
  server.model().configure({kOther, kOurs, "third.initializer.example.com"});
  Loop loop(server);
  CHECK(Creator(server).create(pod("web"), "?includeUninitialized=true").code == 202);
  REQUIRE(eventually(
      [&] { return loop.shows(R"(workqueue_work_duration_seconds_count{name="pods"} 1)"); }));
  CHECK(server.model().patch_answers().empty());
  // The first one is done.
  const auto answer =
      server.model().patch("shop", "web", "application/strategic-merge-patch+json",
                           R"({"metadata":{"initializers":{"pending":[{"$patch":"delete",
        "name":"other.initializer.example.com"}]}}})",
                           {});
  REQUIRE(answer.code == 200);
  server.model().wait_for_patches(2);
  const Json left = server.model().get("shop", "web").body;
  CHECK(base::same(left.at("metadata").at("initializers").at("pending"),
                   json(R"([{"name":"third.initializer.example.com"}])")));
  CHECK(containers(left) == 2);
  CHECK(server.model().foreign_removals(kOurs) == 1);  // Our own, above.
}

TEST_CASE("initializer mode: without the verb pods wait, with it they go on", "[process]") {
  InitializerServer server;
  server.model().configure({kOurs});
  server.set_verbs({.may_patch = true, .may_initialize = false});
  Loop loop(server);
  std::jthread creator([&] { static_cast<void>(Creator(server).create(pod("web"))); });
  REQUIRE(eventually([&] { return server.model().patch_answers()[403] > 0; }));
  CHECK(eventually([&] { return loop.says("update to uninitialized resource denied"); }));
  server.set_verbs({});
  server.model().wait_for_patches(1);
}

TEST_CASE("initializer mode: a namespace may ask, also one that is new", "[process]") {
  InitializerServer server;
  server.model().configure({kOurs});
  Loop loop(server);
  REQUIRE(eventually([&] { return loop.says("looking after waiting pods"); }));
  server.model().put_namespace(json(
      R"({"metadata":{"name":"shop","labels":{"initializer.kubernetes.io/envoy":"enabled"}}})"));
  for (int number = 0; number < 20; ++number) {
    const std::string space = "new-" + std::to_string(number);
    server.model().put_namespace(
        {{"metadata",
          {{"name", space}, {"annotations", {{"initializer.kubernetes.io/envoy", "true"}}}}}});
    const auto made = server.model().create(space, pod("first", false),
                                            {.timeout = std::chrono::minutes(5)}, {}, {});
    CHECK(containers(made.body) == 2);
  }
  CHECK(containers(Creator(server).create(pod("old", false)).body) == 2);
}

TEST_CASE("initializer mode: a dry run prints and lets nobody go", "[process]") {
  InitializerServer server;
  server.model().configure({kOurs});
  Loop loop(server, {"--dry-run", "--resync", "1s"});
  Creator creator(server);
  CHECK(creator.create(pod("web"), "?includeUninitialized=true").code == 202);
  CHECK(creator.create(pod("bare", false), "?includeUninitialized=true").code == 202);
  REQUIRE(eventually([&] { return loop.says("Pod shop/web: would inject (envoy)"); }));
  REQUIRE(eventually([&] { return loop.says("Pod shop/bare: would release ("); }));
  CHECK(server.model().patch_answers().empty());
  CHECK_FALSE(loop.says("pod injected"));
  CHECK(loop.stop() == 0);
}

TEST_CASE("initializer: a server that would write in a dry run gets none", "[process]") {
  InitializerServer server;
  server.set_minor_version(12);
  Loop loop(server, {"--mode", "workloads", "--dry-run"});
  CHECK(loop.wait() == 1);
  CHECK(loop.says("need an API server of 1.13 or later"));
}

}  // namespace injector::tests
