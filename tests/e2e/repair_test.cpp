// Repair mode on a real API server, with our own webhook, and without.

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "base/base64.h"
#include "tests/e2e/control_loop.h"
#include "tests/support/files.h"
#include "tests/support/paths.h"

namespace injector::tests {
namespace {

using base::Json;

constexpr const char* kConfigurations =
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";

/// A Pod as it is made while no webhook is there: it asks, and has no sidecar. With an owner that
/// would make it anew, if there were a controller manager.
void create_lost(const Space& space, const std::string& name, const std::string& owner) {
  Json pod = Space::pod_template();
  pod["apiVersion"] = "v1";
  pod["kind"] = "Pod";
  pod["metadata"]["name"] = name;
  pod["metadata"]["labels"]["pod"] = name;
  pod["metadata"]["ownerReferences"] = json(R"([{"apiVersion":"apps/v1","kind":"ReplicaSet",
    "controller":true}])");
  pod["metadata"]["ownerReferences"][0]["name"] = owner;
  pod["metadata"]["ownerReferences"][0]["uid"] = owner;
  space.post("pods", pod);
}

bool exists(const Space& space, const std::string& pod) {
  return server().request("GET", space.path(pod, "pods")).status == 200;
}

/// `envoy-initializer webhook`, registered under the name that --mode auto looks for.
class Webhook {
 public:
  explicit Webhook(const Space& space)
      : config_(dir_.write("template.yaml", template_text("envoy:1"))),
        port_(free_port()),
        process_(make_certificate().command()) {
    const Json webhook({{"name", "envoy.initializer.kubernetes.io"},
                        {"clientConfig",
                         {{"url", "https://127.0.0.1:" + std::to_string(port_) + "/mutate"},
                          {"caBundle", base::base64_encode(read_file(dir_.file("certs/ca.crt")))}}},
                        {"rules",
                         {{{"apiGroups", {""}},
                           {"apiVersions", {"v1"}},
                           {"operations", {"CREATE"}},
                           {"resources", {"pods"}}}}},
                        {"admissionReviewVersions", {"v1"}},
                        {"sideEffects", "None"},
                        {"failurePolicy", "Fail"}});
    const Json configuration({{"apiVersion", "admissionregistration.k8s.io/v1"},
                              {"kind", "MutatingWebhookConfiguration"},
                              {"metadata", {{"name", "envoy-initializer"}}},
                              {"webhooks", Json::array({webhook})}});
    const auto made = server().request("POST", kConfigurations, base::to_text(configuration));
    INFO(made.body);
    REQUIRE(made.status == 201);
    INFO(tail(dir_.file("log")));
    REQUIRE(eventually([&] { return injects(space); }));
  }

  ~Webhook() {
    static_cast<void>(
        server().request("DELETE", std::string(kConfigurations) + "/envoy-initializer"));
    static_cast<void>(eventually([] { return creates(); }));  // The next case makes Pods.
  }

  Webhook(const Webhook&) = delete;
  Webhook& operator=(const Webhook&) = delete;

  void die() { process_.kill(); }

 private:
  Webhook& make_certificate() {
    REQUIRE(run({.argv = {kProgram, "certs", "--dns", "127.0.0.1", "--out", dir_.file("certs")},
                 .log_file = dir_.file("certs.log")}) == 0);
    return *this;
  }

  [[nodiscard]] ChildProcess::Command command() const {
    return {
        {kProgram, "webhook", "--listen", "127.0.0.1:" + std::to_string(port_), "--admin-listen",
         "127.0.0.1:" + std::to_string(free_port()), "--tls-cert", dir_.file("certs/tls.crt"),
         "--tls-key", dir_.file("certs/tls.key"), "--config", config_, "--shutdown-delay", "1ms"},
        dir_.file("log"),
        {}};
  }

  static ApiServer::Response rehearse(const std::string& name_space) {
    Json pod = Space::pod_template();
    pod["apiVersion"] = "v1";
    pod["kind"] = "Pod";
    pod["metadata"]["name"] = "rehearsal";
    return server().request("POST", "/api/v1/namespaces/" + name_space + "/pods?dryRun=All",
                            base::to_text(pod));
  }

  static bool injects(const Space& space) {
    const auto answer = rehearse(space.name());
    return answer.status == 201 && base::find(json(answer.body), "spec", "containers")->size() == 2;
  }

  static bool creates() {
    const auto answer = rehearse("default");
    return answer.status == 201 && base::find(json(answer.body), "spec", "containers")->size() == 1;
  }

  TempDir dir_;
  std::string config_;
  int port_;
  ChildProcess process_;
};

const std::vector<std::string> kEvict{"--repair", "missing",  "--evict-per-minute",
                                      "6000",     "--resync", "1s"};
const std::string kLooks = R"(workqueue_adds_total{name="pods"})";

std::string evictions(const std::string& result) {
  return R"(envoy_initializer_evictions_total{result=")" + result + R"("})";
}

/// Three resyncs of everything have begun since.
bool looks_again(const Replica& replica, double pods) {
  const double before = replica.metric(kLooks);
  return eventually([&] { return replica.metric(kLooks) >= before + 3 * pods; });
}

}  // namespace

TEST_CASE("repair: a pod without its sidecar is reported, and kept while no webhook injects",
          "[apiserver]") {
  const Space space("repair");
  create_lost(space, "lost", "owner");
  Replica replica(space.flags(kEvict), "repair");
  REQUIRE(eventually([&] { return space.has_event("SidecarMissing", "lost"); }));
  CHECK(replica.shows(R"(envoy_initializer_pods{state="missing"} 1)"));
  REQUIRE(
      eventually([&] { return replica.log().find("is the webhook there?") != std::string::npos; }));
  REQUIRE(looks_again(replica, 1));
  CHECK(exists(space, "lost"));
  CHECK(replica.process().stop() == 0);
}

TEST_CASE("repair: with the webhook there, auto means repair, and one pod an owner goes",
          "[apiserver]") {
  const Space space("evicts");
  create_lost(space, "alone", "one");
  create_lost(space, "left", "two");
  create_lost(space, "right", "two");
  const Webhook webhook(space);
  Replica replica(space.flags(kEvict), "auto");
  INFO(replica.log());
  REQUIRE(eventually(
      [&] { return !exists(space, "alone") && exists(space, "left") != exists(space, "right"); }));
  REQUIRE(looks_again(replica, 1));
  CHECK(exists(space, "left") != exists(space, "right"));
  CHECK(replica.metric(evictions("done")) == 2);
  CHECK(eventually([&] { return space.has_event("Evicted", "alone"); }));
  CHECK(replica.log().find("looking after running pods") != std::string::npos);
}

TEST_CASE("repair: a restart does not make an owner lose a second pod", "[apiserver]") {
  const Space space("restart");
  create_lost(space, "left", "three");
  create_lost(space, "right", "three");
  const Webhook webhook(space);
  {
    Replica first(space.flags(kEvict), "repair");
    const bool one_gone =
        eventually([&] { return exists(space, "left") != exists(space, "right"); });
    INFO(first.log());
    REQUIRE(one_gone);
    first.process().kill();
  }
  const Json memory =
      json(server()
               .request("GET", "/api/v1/namespaces/default/configmaps/envoy-initializer-evictions")
               .body);
  CHECK(base::find(memory, "data", "three") != nullptr);
  Replica second(space.flags(kEvict), "repair");
  REQUIRE(eventually([&] { return second.metric(kLooks) >= 1; }));
  REQUIRE(looks_again(second, 1));
  CHECK(exists(space, "left") != exists(space, "right"));
  CHECK(second.metric(evictions("done")) == 0);
}

TEST_CASE("repair: a disruption budget holds", "[apiserver]") {
  const Space space("budget");
  create_lost(space, "kept", "owner");
  // Of Pods that do not run yet, or are not ready, budgets take no notice.
  space.patch(space.path("kept", "pods") + "/status", R"({"status":{"phase":"Running",
    "conditions":[{"type":"Ready","status":"True"}]}})");
  const std::string budgets = "/apis/policy/v1beta1/namespaces/budget/poddisruptionbudgets";
  REQUIRE(server()
              .request("POST", budgets,
                       R"({"apiVersion":"policy/v1beta1","kind":"PodDisruptionBudget",
                         "metadata":{"name":"all"},"spec":{"minAvailable":1,
                         "selector":{"matchLabels":{"app":"web"}}}})")
              .status == 201);
  // What the disruption controller would say.
  REQUIRE(server()
              .request("PATCH", budgets + "/all/status",
                       R"({"status":{"observedGeneration":1,"disruptionsAllowed":0,
                         "currentHealthy":1,"desiredHealthy":1,"expectedPods":1}})",
                       "application/merge-patch+json")
              .status == 200);
  const Webhook webhook(space);
  Replica replica(space.flags(kEvict), "repair");
  const bool tried = eventually([&] { return replica.metric(evictions("failed")) >= 1; });
  INFO(replica.log());
  REQUIRE(tried);
  REQUIRE(looks_again(replica, 1));
  CHECK(exists(space, "kept"));
  CHECK(replica.metric(evictions("done")) == 0);
  CHECK(replica.log().find("disruption budget") != std::string::npos);
}

TEST_CASE("repair: nothing is evicted while the webhook is registered but away", "[apiserver]") {
  const Space space("away");
  create_lost(space, "lost", "owner");
  Webhook webhook(space);
  webhook.die();
  Replica replica(space.flags(kEvict), "repair");
  REQUIRE(eventually([&] { return replica.log().find("pod not evicted") != std::string::npos; }));
  REQUIRE(looks_again(replica, 1));
  CHECK(exists(space, "lost"));
  CHECK(replica.metric(evictions("done")) == 0);
  CHECK(replica.metric(evictions("failed")) == 0);  // It did not even try.
}

TEST_CASE("repair: a dry run prints what it would evict", "[apiserver]") {
  const Space space("rehearsal");
  create_lost(space, "lost", "owner");
  const Webhook webhook(space);
  std::vector<std::string> flags = kEvict;
  flags.emplace_back("--dry-run");
  Replica replica(space.flags(flags), "repair");
  REQUIRE(eventually([&] {
    return replica.log().find("Pod rehearsal/lost: would evict (missing)") != std::string::npos;
  }));
  CHECK(replica.log().find("Pod rehearsal/lost: would report (missing)") != std::string::npos);
  REQUIRE(looks_again(replica, 1));
  CHECK(exists(space, "lost"));
  CHECK_FALSE(space.has_event("SidecarMissing", "lost"));
}

}  // namespace injector::tests
