// The control loop as a process on a real API server. No controller manager runs, so a workload's
// generation is 1 when it was created and one more for every change of its spec: 2 means patched
// exactly once.

#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <httplib.h>

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

ApiServer& server() {
  static ApiServer instance;
  return instance;
}

Json json(const std::string& text) {
  auto parsed = codec::read_json(text);
  if (!parsed) {
    FAIL(parsed.error().message << ": " << text);
  }
  return std::move(parsed).value();
}

std::string template_text(const std::string& image) {
  return "containers: [{name: envoy, image: '" + image + "'}]\n";
}

/// One replica. It dies with the case.
class Replica {
 public:
  explicit Replica(const std::vector<std::string>& flags, const std::string& mode = "workloads")
      : config_(dir_.write("template.yaml", template_text("envoy:1"))),
        log_(dir_.file("log")),
        port_(free_port()),
        process_({command(flags, mode), log_, {}}) {}

  [[nodiscard]] ChildProcess& process() { return process_; }

  void set_template(const std::string& image) {
    static_cast<void>(dir_.write("template.yaml", template_text(image)));
  }

  [[nodiscard]] std::string log() const { return tail(log_, 200); }

  [[nodiscard]] std::string page(const std::string& path) const {
    httplib::Client client("127.0.0.1", port_);
    const auto answer = client.Get(path.c_str());
    return answer ? answer->body : "";
  }

  [[nodiscard]] bool shows(const std::string& line) const {
    return page("/metrics").find(line + "\n") != std::string::npos;
  }

  /// The value of a metric given by name and labels; 0 where it is not shown.
  [[nodiscard]] double metric(const std::string& name) const {
    const std::string text = page("/metrics");
    const std::size_t at = text.find("\n" + name + " ");
    return at == std::string::npos ? 0 : std::stod(text.substr(at + name.size() + 2));
  }

 private:
  std::vector<std::string> command(const std::vector<std::string>& flags,
                                   const std::string& mode) const {
    std::vector<std::string> all{
        INJ_BINARY, "initializer", "--kubeconfig",   server().kubeconfig_path(),
        "--config", config_,       "--admin-listen", "127.0.0.1:" + std::to_string(port_),
        "--mode",   mode};
    all.insert(all.end(), flags.begin(), flags.end());
    return all;
  }

  TempDir dir_;
  std::string config_;
  std::string log_;
  int port_;
  ChildProcess process_;
};

/// A namespace of its own for each case.
class Space {
 public:
  explicit Space(std::string name)
      : name_(std::move(name)) {
    const Json object = {
        {"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", name_}}}};
    REQUIRE(server().request("POST", "/api/v1/namespaces", base::to_text(object)).status == 201);
  }

  [[nodiscard]] std::vector<std::string> flags(std::vector<std::string> more) const {
    more.insert(more.end(), {"-n", name_});
    return more;
  }

  [[nodiscard]] std::string path(const std::string& name = "",
                                 const std::string& plural = "deployments") const {
    const std::string group = plural == "jobs" ? "batch" : "apps";
    return "/apis/" + group + "/v1/namespaces/" + name_ + "/" + plural +
           (name.empty() ? "" : "/" + name);
  }

  void create(const std::string& name) const {
    const auto answer = server().request("POST", path(), base::to_text(deployment(name)));
    INFO(answer.body);
    REQUIRE(answer.status == 201);
  }

  [[nodiscard]] Json get(const std::string& name) const {
    return json(server().request("GET", path(name)).body);
  }

  [[nodiscard]] std::size_t containers(const std::string& name) const {
    const Json object = get(name);
    const Json* list = base::find(object, "spec", "template", "spec", "containers");
    return list == nullptr ? 0 : list->size();
  }

  [[nodiscard]] bool injected(const std::string& name) const { return containers(name) == 2; }

  [[nodiscard]] std::int64_t generation(const std::string& name) const {
    const Json object = get(name);
    const Json* value = base::find(object, "metadata", "generation");
    return value == nullptr ? 0 : value->get<std::int64_t>();
  }

  [[nodiscard]] std::string version(const std::string& name) const {
    return std::string(base::text_of(base::find(get(name), "metadata", "resourceVersion")));
  }

  /// Takes the sidecar out as somebody would who applies the whole manifest again.
  void take_out(const std::string& name) const {
    REQUIRE(server().request("PUT", path(name), base::to_text(deployment(name))).status == 200);
  }

  [[nodiscard]] bool has_event(const std::string& reason, const std::string& name) const {
    const Json list = json(server().request("GET", "/api/v1/namespaces/" + name_ + "/events").body);
    for (const Json& event : *base::find(list, "items")) {
      if (base::text_of(base::find(event, "reason")) == reason &&
          base::text_of(base::find(event, "involvedObject", "name")) == name) {
        return true;
      }
    }
    return false;
  }

  [[nodiscard]] static Json pod_template() {
    return json(R"({"metadata":{"labels":{"app":"web"},
      "annotations":{"initializer.kubernetes.io/envoy":"true"}},
      "spec":{"containers":[{"name":"app","image":"app:1"}]}})");
  }

 private:
  [[nodiscard]] static Json deployment(const std::string& name) {
    Json object = json(R"({"apiVersion":"apps/v1","kind":"Deployment",
      "spec":{"selector":{"matchLabels":{"app":"web"}}}})");
    object["metadata"] = {{"name", name}};
    object["spec"]["template"] = pod_template();
    return object;
  }

  std::string name_;
};

std::vector<std::string> names(const std::string& prefix, int count) {
  std::vector<std::string> all;
  for (int number = 0; number < count; ++number) {
    all.push_back(prefix + std::to_string(number));
  }
  return all;
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
  const std::string leading = R"(leader_election_master_status{name="envoy-initializer"} 1)";
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

TEST_CASE("repair: a pod without its sidecar is reported, and kept while no webhook injects",
          "[apiserver]") {
  const Space space("repair");
  Json pod = Space::pod_template();
  pod["apiVersion"] = "v1";
  pod["kind"] = "Pod";
  pod["metadata"]["name"] = "lost";
  pod["metadata"]["ownerReferences"] = json(R"([{"apiVersion":"apps/v1","kind":"ReplicaSet",
    "name":"rs","uid":"2f5d3a52-0000-0000-0000-000000000000","controller":true}])");
  const std::string pods = "/api/v1/namespaces/repair/pods";
  const auto made = server().request("POST", pods, base::to_text(pod));
  INFO(made.body);
  REQUIRE(made.status == 201);
  Replica replica(space.flags({"--repair", "evict"}), "repair");
  REQUIRE(eventually([&] { return space.has_event("SidecarMissing", "lost"); }));
  CHECK(replica.shows(R"(envoy_initializer_pods{state="missing"} 1)"));
  REQUIRE(
      eventually([&] { return replica.log().find("is the webhook there?") != std::string::npos; }));
  CHECK(server().request("GET", pods + "/lost").status == 200);
  CHECK(replica.process().stop() == 0);
}

}  // namespace injector::tests
