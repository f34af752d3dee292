// Workload mode on a real API server, and what all modes share.

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "base/base64.h"
#include "tests/e2e/control_loop.h"
#include "tests/support/fake_api.h"
#include "tests/support/files.h"

namespace injector::tests {
namespace {

using base::Json;

/// Somebody who does something while the API server works on the loop's first PATCH in a namespace:
/// after the loop has read, and before the server writes. It is a webhook, called in between.
class Intruder {
 public:
  Intruder(std::string name_space, std::function<void()> deed)
      : name_space_(std::move(name_space)),
        deed_(std::move(deed)),
        api_([this](const FakeApi::Request& request, FakeApi::Peer& peer) {
          serve(request, peer);
        }) {
    const Json webhook(
        {{"name", "intruder.example.com"},
         {"clientConfig",
          {{"url", api_.url() + "/"},
           {"caBundle", base::base64_encode(read_file(TestCertificates::authority()))}}},
         {"rules",
          {{{"apiGroups", {"apps"}},
            {"apiVersions", {"v1"}},
            {"operations", {"UPDATE"}},
            {"resources", {"deployments"}}}}},
         {"admissionReviewVersions", {"v1"}},
         {"sideEffects", "None"},
         {"failurePolicy", "Fail"}});
    const Json configuration({{"apiVersion", "admissionregistration.k8s.io/v1"},
                              {"kind", "MutatingWebhookConfiguration"},
                              {"metadata", {{"name", "intruder"}}},
                              {"webhooks", Json::array({webhook})}});
    REQUIRE(server().request("POST", kConfigurations, base::to_text(configuration)).status == 201);
  }

  ~Intruder() {
    static_cast<void>(server().request("DELETE", std::string(kConfigurations) + "/intruder"));
  }

  Intruder(const Intruder&) = delete;
  Intruder& operator=(const Intruder&) = delete;

  /// The API server calls it from now on.
  void wait_until_called(const Space& space) {
    space.create("bell");
    REQUIRE(eventually([&] {
      space.patch(space.path("bell"), R"({"spec":{"replicas":)" + std::to_string(++rings_) + "}}");
      return called_.load();
    }));
    REQUIRE(server().request("DELETE", space.path("bell")).status == 200);
  }

  [[nodiscard]] bool struck() const { return struck_; }

  static constexpr const char* kConfigurations =
      "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";

 private:
  void serve(const FakeApi::Request& request, FakeApi::Peer& peer) {
    const Json review = base::read_json(request.body).value();
    called_ = true;
    const bool loop = base::text_of(base::find(review, "request", "options", "fieldManager")) ==
                      "envoy-initializer";
    const bool here = base::text_of(base::find(review, "request", "namespace")) == name_space_;
    if (loop && here && !struck_.exchange(true)) {
      deed_();
    }
    const Json answer(
        {{"apiVersion", "admission.k8s.io/v1"},
         {"kind", "AdmissionReview"},
         {"response", {{"uid", *base::find(review, "request", "uid")}, {"allowed", true}}}});
    peer.respond(200, base::to_text(answer), "Content-Type: application/json\r\n");
  }

  const std::string name_space_;
  const std::function<void()> deed_;
  std::atomic<bool> called_ = false;
  std::atomic<bool> struck_ = false;
  int rings_ = 1;
  FakeApi api_;  // Last: its threads use the others.
};

std::string patches(const std::string& result) {
  return R"(envoy_initializer_patches_total{result=")" + result + R"("})";
}

}  // namespace

TEST_CASE("initializer: a deployment that asks is patched once and left alone", "[apiserver]") {
  const Space space("once");
  Replica replica(space.flags({"--resources", "deployments", "--resync", "1s"}));
  space.create("web");
  REQUIRE(eventually([&] { return space.injected("web"); }));
  const std::string version = space.version("web");
  const std::string adds = R"(workqueue_adds_total{name="deployments"})";
  const double before = replica.metric(adds);
  REQUIRE(eventually([&] { return replica.metric(adds) >= before + 3; }));
  CHECK(space.version("web") == version);
  CHECK(space.generation("web") == 2);
  CHECK(replica.shows(R"(envoy_initializer_patches_total{result="done"} 1)"));
  CHECK(eventually([&] { return space.has_event("Injected", "web"); }));
  INFO(replica.log());
  CHECK(replica.process().stop() == 0);
}

TEST_CASE("initializer: what was there before and what changed is patched", "[apiserver]") {
  const Space space("change");
  space.create("early");
  Replica replica(space.flags({"--resources", "deployments,statefulsets"}));
  REQUIRE(eventually([&] { return space.injected("early"); }));
  const std::string opt_in = R"({"spec":{"template":{"metadata":{"annotations":
    {"initializer.kubernetes.io/envoy":)";
  Json silent = json(R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"late"},
    "spec":{"selector":{"matchLabels":{"app":"web"}}}})");
  silent["spec"]["template"] = Space::pod_template();
  silent["spec"]["template"]["metadata"].erase("annotations");
  REQUIRE(server().request("POST", space.path(), base::to_text(silent)).status == 201);
  REQUIRE(server()
              .request("PATCH", space.path("late"), opt_in + R"("true"}}}}})",
                       "application/strategic-merge-patch+json")
              .status == 200);
  REQUIRE(eventually([&] { return space.injected("late"); }));
  REQUIRE(server().request("DELETE", space.path("late")).status == 200);
  space.create("late");
  REQUIRE(eventually([&] { return space.injected("late"); }));
  CHECK(space.generation("late") == 2);
}

TEST_CASE("initializer: it does not fight another writer", "[apiserver]") {
  const Space space("fight");
  Replica replica(space.flags({"--resources", "deployments", "--resync", "1s"}));
  space.create("web");
  for (int removal = 0; removal < 3; ++removal) {
    REQUIRE(eventually([&] { return space.injected("web"); }));
    space.take_out("web");
  }
  REQUIRE(eventually([&] { return replica.shows("envoy_initializer_contested_objects_total 1"); }));
  REQUIRE(eventually([&] { return space.has_event("Contested", "web"); }));
  const std::string version = space.version("web");
  const std::string adds = R"(workqueue_adds_total{name="deployments"})";
  const double before = replica.metric(adds);
  REQUIRE(eventually([&] { return replica.metric(adds) >= before + 2; }));
  CHECK(space.version("web") == version);
  CHECK_FALSE(space.injected("web"));
}

TEST_CASE("initializer: a rollout replaces the sidecar of another template", "[apiserver]") {
  const Space space("rollout");
  Replica replica(space.flags({"--resources", "deployments", "--rollout"}));
  space.create("web");
  REQUIRE(eventually([&] { return space.injected("web"); }));
  replica.set_template("envoy:2");
  REQUIRE(eventually([&] {
    return base::to_text(*base::find(space.get("web"), "spec")).find("envoy:2") !=
           std::string::npos;
  }));
  CHECK(space.containers("web") == 2);
  CHECK(space.generation("web") == 3);
}

TEST_CASE("initializer: a dry run prints and writes nothing", "[apiserver]") {
  const Space space("dry");
  space.create("web");
  Replica replica(space.flags({"--resources", "deployments", "--dry-run"}));
  REQUIRE(eventually([&] {
    return replica.log().find("Deployment dry/web: would inject (envoy)") != std::string::npos;
  }));
  CHECK(space.generation("web") == 1);
  CHECK_FALSE(space.injected("web"));
}

TEST_CASE("initializer: one pass ends by itself, in earnest and dry", "[apiserver]") {
  const Space space("pass");
  space.create("web");
  Replica dry(space.flags({"--resources", "deployments", "--dry-run", "--once"}));
  CHECK(dry.process().wait(std::chrono::seconds{60}) == 0);
  INFO(dry.log());
  CHECK(dry.log().find("Deployment pass/web: would inject (envoy)") != std::string::npos);
  CHECK_FALSE(space.injected("web"));
  Replica earnest(space.flags({"--resources", "deployments", "--once"}));
  CHECK(earnest.process().wait(std::chrono::seconds{60}) == 0);
  CHECK(space.injected("web"));
}

TEST_CASE("initializer: a template that turns to no loses its sidecar again", "[apiserver]") {
  const Space space("uninject");
  Replica replica(space.flags({"--resources", "deployments"}));
  space.create("web");
  const Json before = *base::find(space.get("web"), "spec", "template", "spec");
  REQUIRE(eventually([&] { return space.injected("web"); }));
  space.patch(space.path("web"), R"({"spec":{"template":{"metadata":{"annotations":
    {"initializer.kubernetes.io/envoy":"false"}}}}})");
  REQUIRE(eventually([&] { return space.containers("web") == 1; }));
  const Json web = space.get("web");
  CHECK(base::same(*base::find(web, "spec", "template", "spec"), before));
  const Json& annotations = *base::find(web, "spec", "template", "metadata", "annotations");
  CHECK(annotations.size() == 1);
  CHECK(eventually([&] { return space.has_event("Uninjected", "web"); }));
}

TEST_CASE("initializer: a key on the deployment itself is told of", "[apiserver]") {
  const Space space("misplaced");
  Replica replica(space.flags({"--resources", "deployments"}));
  Json object = Space::deployment("web");
  object["spec"]["template"]["metadata"].erase("annotations");
  object["metadata"]["annotations"]["initializer.kubernetes.io/envoy"] = "true";
  space.post("deployments", object);
  INFO(replica.log());
  REQUIRE(eventually([&] { return space.has_event("MisplacedKey", "web"); }));
  CHECK(space.generation("web") == 1);
}

TEST_CASE("initializer: pods keep the pull secrets of their service account", "[apiserver]") {
  const Space space("secrets");
  const std::string accounts = "/api/v1/namespaces/secrets/serviceaccounts";
  REQUIRE(server()
              .request("POST", accounts,
                       R"({"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"robot"},
                         "imagePullSecrets":[{"name":"account"}]})")
              .status == 201);
  Json map = json(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"sidecar"}})");
  map["data"]["config"] = template_text("envoy:1") + "imagePullSecrets: [{name: regcred}]\n";
  REQUIRE(server()
              .request("POST", "/api/v1/namespaces/secrets/configmaps", base::to_text(map))
              .status == 201);
  Replica replica(space.flags({"--resources", "deployments", "--configmap", "secrets/sidecar"}));
  Json object = Space::deployment("web");
  object["spec"]["template"]["spec"]["serviceAccountName"] = "robot";
  space.post("deployments", object);
  INFO(replica.log());
  REQUIRE(eventually([&] { return space.injected("web"); }));
  const Json web = space.get("web");
  const Json* secrets = base::find(web, "spec", "template", "spec", "imagePullSecrets");
  REQUIRE(secrets != nullptr);
  CHECK(secrets->size() == 2);
  CHECK(base::to_text(*secrets).find("account") != std::string::npos);
}

/// An Argo-like Rollout of our own, in two versions.
void define_rollouts() {
  const Json schema = json(R"({"openAPIV3Schema":{"type":"object",
    "x-kubernetes-preserve-unknown-fields":true}})");
  Json definition = json(R"({"apiVersion":"apiextensions.k8s.io/v1",
    "kind":"CustomResourceDefinition","metadata":{"name":"rollouts.test.example.com"},
    "spec":{"group":"test.example.com","scope":"Namespaced",
    "names":{"plural":"rollouts","singular":"rollout","kind":"Rollout"},
    "versions":[{"name":"v1alpha1","served":true,"storage":false},
                {"name":"v1","served":true,"storage":true}]}})");
  for (Json& version : definition["spec"]["versions"]) {
    version["schema"] = schema;
  }
  const auto made = server().request(
      "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", base::to_text(definition));
  INFO(made.body);
  REQUIRE(made.status == 201);
  REQUIRE(eventually(
      [] { return server().request("GET", "/apis/test.example.com/v1/rollouts").status == 200; }));
}

TEST_CASE("initializer: custom resources with a pod template are patched by merge", "[apiserver]") {
  const Space space("custom");
  define_rollouts();
  const std::string path = "/apis/test.example.com/v1/namespaces/custom/rollouts";
  Json rollout = Space::deployment("web");
  rollout["apiVersion"] = "test.example.com/v1";
  rollout["kind"] = "Rollout";
  rollout["spec"]["strategy"] = json(R"({"canary":{"steps":[{"setWeight":20},{"pause":{}}]}})");
  const auto made = server().request("POST", path, base::to_text(rollout));
  INFO(made.body);
  REQUIRE(made.status == 201);
  Replica replica(space.flags({"--resources", "test.example.com/rollouts", "--resync", "1s"}));
  const auto now = [&] { return json(server().request("GET", path + "/web").body); };
  const auto containers = [&] {
    const Json object = now();
    return base::find(object, "spec", "template", "spec", "containers")->size();
  };
  const bool injected = eventually([&] { return containers() == 2; });
  INFO(replica.log());
  REQUIRE(injected);
  CHECK(*base::find(now(), "spec", "strategy") == rollout["spec"]["strategy"]);
  CHECK(*base::find(now(), "metadata", "generation") == 2);
  CHECK(eventually([&] { return space.has_event("Injected", "web"); }));
  REQUIRE(server()
              .request("PATCH", path + "/web",
                       R"({"spec":{"template":{"metadata":{"annotations":
                         {"initializer.kubernetes.io/envoy":"false"}}}}})",
                       "application/merge-patch+json")
              .status == 200);
  REQUIRE(eventually([&] { return containers() == 1; }));
  const Json left = now();
  const Json bare = Space::pod_template();
  CHECK(base::same(*base::find(left, "spec", "template", "spec"), *base::find(bare, "spec")));
}

TEST_CASE("initializer: a resource that nobody serves is named", "[apiserver]") {
  const Space space("nobody");
  Replica replica(space.flags({"--resources", "example.org/gadgets"}));
  CHECK(replica.process().wait(std::chrono::seconds{60}) == 1);
  CHECK(replica.log().find("serves no example.org/gadgets") != std::string::npos);
}

TEST_CASE("initializer: without a flag the installation's template is followed", "[apiserver]") {
  const Space ours("envoy-initializer");
  Json map =
      json(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"envoy-initializer"}})");
  map["data"]["config"] = template_text("envoy:installed");
  const std::string maps = "/api/v1/namespaces/envoy-initializer/configmaps";
  REQUIRE(server().request("POST", maps, base::to_text(map)).status == 201);
  const Space space("installed");
  Replica replica(space.flags({"--resources", "deployments"}), "workloads", Template::None);
  space.create("web");
  REQUIRE(eventually([&] { return space.injected("web"); }));
  CHECK(base::to_text(space.get("web")).find("envoy:installed") != std::string::npos);
  CHECK(server().request("DELETE", maps + "/envoy-initializer").status == 200);
}

TEST_CASE("initializer: the lease is in our namespace, not in that of -n", "[apiserver]") {
  const Space ours("lease-home");
  const Space space("leased");
  const std::string name = "/leases/envoy-initializer-workloads";
  const std::string root = "/apis/coordination.k8s.io/v1/namespaces/";
  Replica replica(space.flags(
      {"--resources", "deployments", "--leader-elect", "--lease-namespace", "lease-home"}));
  REQUIRE(eventually(
      [&] { return server().request("GET", root + "lease-home" + name).status == 200; }));
  CHECK(server().request("GET", root + "leased" + name).status == 404);
  // Without the flag it is where the kubeconfig says that we are.
  Replica at_home(space.flags({"--resources", "deployments", "--leader-elect"}));
  REQUIRE(
      eventually([&] { return server().request("GET", root + "default" + name).status == 200; }));
  CHECK(server().request("GET", root + "leased" + name).status == 404);
}

TEST_CASE("initializer: a job is tried once, and said to be immutable", "[apiserver]") {
  const Space space("jobs");
  Json job = json(R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"once"}})");
  job["spec"]["template"] = Space::pod_template();
  job["spec"]["template"]["spec"]["restartPolicy"] = "Never";
  const auto made = server().request("POST", space.path("", "jobs"), base::to_text(job));
  INFO(made.body);
  REQUIRE(made.status == 201);
  Replica replica(space.flags({"--resources", "jobs", "--resync", "1s"}));
  REQUIRE(eventually([&] { return space.has_event("NotInjected", "once"); }));
  const std::string adds = R"(workqueue_adds_total{name="jobs"})";
  const double before = replica.metric(adds);
  REQUIRE(eventually([&] { return replica.metric(adds) >= before + 2; }));
  CHECK(replica.shows(R"(envoy_initializer_patches_total{result="refused"} 1)"));
}

TEST_CASE("initializer: a killed API server costs nothing but time", "[apiserver]") {
  const Space space("killed");
  Replica replica(space.flags({"--resources", "deployments"}));
  const auto first = names("a", 15);
  const auto second = names("b", 15);
  for (const std::string& name : first) {
    space.create(name);
  }
  REQUIRE(eventually([&] { return space.injected(first.front()); }));
  server().kill_api_server();
  server().start_api_server();
  for (const std::string& name : second) {
    space.create(name);
  }
  for (const auto* group : {&first, &second}) {
    for (const std::string& name : *group) {
      INFO(name << "\n" << replica.log());
      REQUIRE(eventually([&] { return space.injected(name); }));
      CHECK(space.generation(name) == 2);
    }
  }
}

TEST_CASE("initializer: of two replicas one works, and the other takes over", "[apiserver]") {
  const Space space("leaders");
  const auto flags = space.flags({"--resources", "deployments", "--leader-elect"});
  const std::string leading =
      R"(leader_election_master_status{name="envoy-initializer-workloads"} 1)";
  auto one = std::make_unique<Replica>(flags);
  REQUIRE(eventually([&] { return one->shows(leading); }));
  Replica two(flags);
  const auto first = names("a", 10);
  const auto second = names("b", 10);
  for (const std::string& name : first) {
    space.create(name);
  }
  REQUIRE(eventually([&] { return space.injected(first.front()); }));
  CHECK(one->process().stop() == 0);
  for (const std::string& name : second) {
    space.create(name);
  }
  REQUIRE(eventually([&] { return two.shows(leading); }));
  for (const auto* group : {&first, &second}) {
    for (const std::string& name : *group) {
      INFO(name << "\n" << two.log());
      REQUIRE(eventually([&] { return space.injected(name); }));
      CHECK(space.generation(name) == 2);
    }
  }
}

TEST_CASE("initializer: what somebody else writes in between is not lost", "[apiserver]") {
  const Space space("conflict");
  Intruder intruder("conflict", [&] {
    static_cast<void>(
        server().request("PATCH", space.path("web"),
                         R"({"spec":{"template":{"spec":{"terminationGracePeriodSeconds":7}}}})",
                         "application/strategic-merge-patch+json"));
  });
  intruder.wait_until_called(space);
  Replica replica(space.flags({"--resources", "deployments"}));
  space.create("web");
  INFO(replica.log());
  REQUIRE(eventually([&] { return space.injected("web"); }));
  CHECK(intruder.struck());
  const Json web = space.get("web");
  CHECK(*base::find(web, "spec", "template", "spec", "terminationGracePeriodSeconds") == 7);
  CHECK(space.generation("web") == 3);  // Made, changed by the other, patched by us.
  CHECK(eventually([&] { return replica.metric(patches("done")) == 1; }));
  CHECK(replica.metric(patches("conflict")) >= 1);
}

TEST_CASE("initializer: an object that goes in between is let go", "[apiserver]") {
  const Space space("deleted");
  Intruder intruder("deleted",
                    [&] { static_cast<void>(server().request("DELETE", space.path("web"))); });
  intruder.wait_until_called(space);
  Replica replica(space.flags({"--resources", "deployments", "--resync", "1s"}));
  space.create("web");
  REQUIRE(eventually([&] { return replica.metric(patches("gone")) == 1; }));
  CHECK(intruder.struck());
  space.create("next");
  REQUIRE(eventually([&] { return space.injected("next"); }));
  CHECK(server().request("GET", space.path("web")).status == 404);
  CHECK(eventually([&] { return replica.metric(patches("done")) == 1; }));
  CHECK(replica.metric(patches("gone")) == 1);
}

TEST_CASE("initializer: cron jobs are patched, whatever version serves them", "[apiserver]") {
  const Space space("cron");
  Replica replica(space.flags({"--resources", "cronjobs"}));
  Json job = json(R"({"apiVersion":"batch/v1beta1","kind":"CronJob","metadata":{"name":"nightly"},
    "spec":{"schedule":"0 3 * * *"}})");
  Json& pod = job["spec"]["jobTemplate"]["spec"]["template"];
  pod = Space::pod_template();
  pod["spec"]["restartPolicy"] = "Never";
  space.post("cronjobs", job);
  const auto containers = [&] {
    const Json made = json(server().request("GET", space.path("nightly", "cronjobs")).body);
    return base::find(made, "spec", "jobTemplate", "spec", "template", "spec", "containers")
        ->size();
  };
  INFO(replica.log());
  REQUIRE(eventually([&] { return containers() == 2; }));
}

TEST_CASE("initializer: the template may come from a ConfigMap, and is followed", "[apiserver]") {
  const Space space("map");
  Json map = json(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"sidecar"}})");
  map["data"]["config"] = template_text("envoy:1");
  const std::string maps = "/api/v1/namespaces/map/configmaps";
  REQUIRE(server().request("POST", maps, base::to_text(map)).status == 201);
  Replica replica(
      space.flags({"--resources", "deployments", "--configmap", "map/sidecar", "--rollout"}));
  space.create("web");
  const auto image = [&] {
    const Json web = space.get("web");
    const Json& list = *base::find(web, "spec", "template", "spec", "containers");
    return list.size() == 2 ? list.at(1).at("image").get<std::string>() : "";
  };
  REQUIRE(eventually([&] { return image() == "envoy:1"; }));
  map["data"]["config"] = template_text("envoy:2");
  REQUIRE(server().request("PUT", maps + "/sidecar", base::to_text(map)).status == 200);
  REQUIRE(eventually([&] { return image() == "envoy:2"; }));
}

TEST_CASE("initializer: a namespace that begins to ask is heard at once", "[apiserver]") {
  const Space space("opt-in");
  Replica replica(space.flags({"--resources", "deployments", "--resync", "0s"}));
  Json silent = Space::deployment("web");
  silent["spec"]["template"]["metadata"].erase("annotations");
  space.post("deployments", silent);
  const std::string looks = R"(workqueue_work_duration_seconds_count{name="deployments"})";
  REQUIRE(eventually([&] { return replica.metric(looks) >= 1; }));
  CHECK(space.generation("web") == 1);
  space.patch("/api/v1/namespaces/opt-in",
              R"({"metadata":{"annotations":{"initializer.kubernetes.io/envoy":"true"}}})");
  REQUIRE(eventually([&] { return space.injected("web"); }));
  CHECK(space.generation("web") == 2);
}

TEST_CASE("initializer: without a webhook to repair after, auto means workloads", "[apiserver]") {
  const Space space("auto");
  Replica replica(space.flags({"--resources", "deployments"}), "auto");
  space.create("web");
  REQUIRE(eventually([&] { return space.injected("web"); }));
  CHECK(replica.log().find("looking after workloads") != std::string::npos);
}

}  // namespace injector::tests
