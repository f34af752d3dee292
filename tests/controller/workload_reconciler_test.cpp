#include "controller/workload_reconciler.h"

#include <catch2/catch.hpp>

#include "tests/controller/fakes.h"

namespace injector::controller {
namespace {

using base::Json;
using runtime::Outcome;

enum class Run { Dry, InEarnest };

struct Bench {
  explicit Bench(WorkloadOptions options = {}, Run run = Run::InEarnest)
      : reconciler(run == Run::Dry ? world.dry_surroundings() : world.deps(), server, options) {}

  Outcome reconcile(const std::string& name) { return reconcile(name, server.cached(name)); }

  Outcome reconcile(const std::string& name, const runtime::ObjectPtr& object) {
    return reconciler.reconcile("shop/" + name, object, {});
  }

  [[nodiscard]] std::size_t containers(const std::string& name) const {
    return server.get(name).at("spec").at("template").at("spec").at("containers").size();
  }

  fakes::World world;
  fakes::FakeServer server;
  WorkloadReconciler reconciler;
};

TEST_CASE("workloads: one patch, then nothing", "[controller]") {
  Bench bench;
  bench.server.put(fakes::deployment("web"));
  for (int round = 0; round < 3; ++round) {
    REQUIRE(bench.reconcile("web").kind == Outcome::Kind::Done);
  }
  REQUIRE(bench.server.patches() == 1);
  REQUIRE(bench.containers("web") == 2);
  REQUIRE(bench.world.events() == std::vector<std::string>{"Injected web"});
  REQUIRE(bench.world.shows(R"(envoy_initializer_patches_total{result="done"} 1)"));
}

TEST_CASE("workloads: a cache behind our own write is not patched again", "[controller]") {
  Bench bench;
  bench.server.put(fakes::deployment("web"));
  const runtime::ObjectPtr stale = bench.server.cached("web");
  static_cast<void>(bench.reconcile("web", stale));
  static_cast<void>(bench.reconcile("web", stale));
  REQUIRE(bench.server.patches() == 1);
}

TEST_CASE("workloads: a conflict is tried again on the newer version", "[controller]") {
  Bench bench;
  bench.server.put(fakes::deployment("web"));
  const runtime::ObjectPtr stale = bench.server.cached("web");
  bench.server.put(fakes::deployment("web"));
  REQUIRE(bench.reconcile("web", stale).kind == Outcome::Kind::Retry);
  REQUIRE(bench.containers("web") == 1);
  REQUIRE(bench.reconcile("web").kind == Outcome::Kind::Done);
  REQUIRE(bench.containers("web") == 2);
}

TEST_CASE("workloads: gone is done, and forgotten", "[controller]") {
  Bench bench;
  bench.server.put(fakes::deployment("web"));
  const runtime::ObjectPtr last = bench.server.cached("web");
  bench.server.remove("web");
  REQUIRE(bench.reconcile("web", last).kind == Outcome::Kind::Done);
  REQUIRE(bench.reconcile("web", nullptr).kind == Outcome::Kind::Done);
  bench.server.put(fakes::deployment("web"));
  REQUIRE(bench.reconcile("web").kind == Outcome::Kind::Done);
  REQUIRE(bench.containers("web") == 2);
}

TEST_CASE("workloads: what the server refuses is said once and not repeated", "[controller]") {
  Bench bench;
  bench.server.put(fakes::deployment("web"));
  bench.server.fail_with(base::invalid("spec.template: field is immutable"));
  REQUIRE(bench.reconcile("web").kind == Outcome::Kind::Done);
  bench.server.put(bench.server.get("web"));  // A new status: another version, the same spec.
  static_cast<void>(bench.reconcile("web"));
  REQUIRE(bench.server.patches() == 1);
  REQUIRE(bench.world.events() == std::vector<std::string>{"NotInjected web"});
  REQUIRE(bench.world.last_message().find("immutable") != std::string::npos);
  Json changed = bench.server.get("web");
  changed["metadata"]["generation"] = 2;
  bench.server.put(changed);
  bench.server.fail_with({});
  static_cast<void>(bench.reconcile("web"));
  REQUIRE(bench.containers("web") == 2);
}

TEST_CASE("workloads: a server that fails is asked again", "[controller]") {
  Bench bench;
  bench.server.put(fakes::deployment("web"));
  for (const auto code : {base::ErrorCode::Unavailable, base::ErrorCode::Forbidden,
                          base::ErrorCode::TooManyRequests, base::ErrorCode::Internal}) {
    bench.server.fail_with(base::Error{code, "no"});
    REQUIRE(bench.reconcile("web").kind == Outcome::Kind::Retry);
  }
  bench.server.fail_with({});
  REQUIRE(bench.reconcile("web").kind == Outcome::Kind::Done);
  REQUIRE(bench.containers("web") == 2);
}

TEST_CASE("workloads: the third removal ends the matter", "[controller]") {
  Bench bench;
  bench.server.put(fakes::deployment("web"));
  for (int removal = 0; removal < 6; ++removal) {
    static_cast<void>(bench.reconcile("web"));
    bench.server.put(fakes::deployment("web"));
  }
  static_cast<void>(bench.reconcile("web"));
  REQUIRE(bench.server.patches() == 3);
  REQUIRE(bench.containers("web") == 1);
  REQUIRE(bench.world.events() == std::vector<std::string>{"Injected web", "Injected web",
                                                           "Injected web", "Contested web"});
  REQUIRE(bench.world.shows("envoy_initializer_contested_objects_total 1"));
  Json successor = fakes::deployment("web");
  successor["metadata"]["uid"] = "another";
  bench.server.put(successor);
  static_cast<void>(bench.reconcile("web"));
  REQUIRE(bench.containers("web") == 2);
}

TEST_CASE("workloads: conflicts on the way are no removals", "[controller]") {
  Bench bench;
  bench.server.put(fakes::deployment("web"));
  static_cast<void>(bench.reconcile("web"));
  bench.server.put(fakes::deployment("web"));
  for (int round = 0; round < 5; ++round) {
    const runtime::ObjectPtr stale = bench.server.cached("web");
    bench.server.put(fakes::deployment("web"));
    REQUIRE(bench.reconcile("web", stale).kind == Outcome::Kind::Retry);
  }
  REQUIRE(bench.reconcile("web").kind == Outcome::Kind::Done);
  REQUIRE(bench.containers("web") == 2);
}

TEST_CASE("workloads: rollouts are no removals", "[controller]") {
  Bench bench(WorkloadOptions{Rollout::WhenOutdated});
  bench.server.put(fakes::deployment("web"));
  for (int version = 1; version <= 6; ++version) {
    bench.world.set_template(fakes::sidecar("envoy:" + std::to_string(version)));
    static_cast<void>(bench.reconcile("web"));
  }
  REQUIRE(bench.server.patches() == 6);
  REQUIRE(base::to_text(bench.server.get("web")).find("envoy:6") != std::string::npos);
}

TEST_CASE("workloads: a dry run prints each change once", "[controller]") {
  Bench bench(WorkloadOptions{}, Run::Dry);
  bench.server.put(fakes::deployment("web"));
  const Json before = bench.server.get("web");
  for (int round = 0; round < 3; ++round) {
    static_cast<void>(bench.reconcile("web"));
    bench.server.put(before);  // The server writes nothing, but the status moves on.
  }
  REQUIRE(bench.world.lines() ==
          std::vector<std::string>{"Deployment shop/web: would inject (envoy)"});
  REQUIRE(bench.world.events().empty());
}

TEST_CASE("workloads: an unrecognized value is said once", "[controller]") {
  Bench bench;
  bench.server.put(fakes::deployment("web", "ture"));
  static_cast<void>(bench.reconcile("web"));
  static_cast<void>(bench.reconcile("web"));
  REQUIRE(bench.server.patches() == 0);
  REQUIRE(bench.world.events() == std::vector<std::string>{"UnrecognizedValue web"});
}

void say_no(fakes::FakeServer& server) {
  Json object = server.get("web");
  object["spec"]["template"]["metadata"]["annotations"]["initializer.kubernetes.io/envoy"] =
      "false";
  server.put(object);
}

TEST_CASE("workloads: a template that turns to no loses its sidecar, with an event",
          "[controller]") {
  Bench bench;
  bench.server.put(fakes::deployment("web"));
  static_cast<void>(bench.reconcile("web"));
  REQUIRE(bench.containers("web") == 2);
  say_no(bench.server);
  for (int round = 0; round < 3; ++round) {
    REQUIRE(bench.reconcile("web").kind == Outcome::Kind::Done);
  }
  REQUIRE(bench.server.patches() == 2);
  REQUIRE(bench.containers("web") == 1);
  REQUIRE(bench.world.events() == std::vector<std::string>{"Injected web", "Uninjected web"});
  REQUIRE_THAT(bench.world.last_message(), Catch::Contains("envoy") && Catch::Contains("false"));
}

TEST_CASE(
    "workloads: a sidecar that is put back against the template's no is left there in the end",
    "[controller]") {
  Bench bench;
  bench.server.put(fakes::deployment("web"));
  static_cast<void>(bench.reconcile("web"));
  say_no(bench.server);
  const Json with_sidecar = bench.server.get("web");
  for (int round = 0; round < 6; ++round) {
    static_cast<void>(bench.reconcile("web"));
    bench.server.put(with_sidecar);
  }
  static_cast<void>(bench.reconcile("web"));
  REQUIRE(bench.server.patches() == 1 + WorkloadReconciler::kMaxUndone);
  REQUIRE(bench.world.events().back() == "Contested web");
}

TEST_CASE("workloads: yes and no in turn are nobody's fight", "[controller]") {
  Bench bench;
  for (int round = 0; round < 5; ++round) {
    bench.server.put(fakes::deployment("web"));
    static_cast<void>(bench.reconcile("web"));
    REQUIRE(bench.containers("web") == 2);
    say_no(bench.server);
    static_cast<void>(bench.reconcile("web"));
    REQUIRE(bench.containers("web") == 1);
  }
}

TEST_CASE("workloads: a dry run prints what it would take out", "[controller]") {
  Bench earnest;
  earnest.server.put(fakes::deployment("web"));
  static_cast<void>(earnest.reconcile("web"));
  say_no(earnest.server);
  Bench bench(WorkloadOptions{}, Run::Dry);
  bench.server.put(earnest.server.get("web"));
  static_cast<void>(bench.reconcile("web"));
  REQUIRE(bench.world.lines() ==
          std::vector<std::string>{"Deployment shop/web: would uninject (envoy)"});
}

TEST_CASE("workloads: keys that are almost right are told, once each", "[controller]") {
  Bench bench;
  Json misplaced = fakes::deployment("web", "");
  misplaced["metadata"]["annotations"]["initializer.kubernetes.io/envoy"] = "true";
  misplaced["spec"]["template"]["metadata"]["annotations"]["initializer.kubernetes.io/envy"] =
      "true";
  bench.server.put(misplaced);
  static_cast<void>(bench.reconcile("web"));
  static_cast<void>(bench.reconcile("web"));
  REQUIRE(bench.server.patches() == 0);
  REQUIRE(bench.world.events() == std::vector<std::string>{"MisspeltKey web", "MisplacedKey web"});
}

TEST_CASE("workloads: a mistake that is made again is told again", "[controller]") {
  Bench bench;
  for (int round = 0; round < 2; ++round) {
    bench.server.put(fakes::deployment("web", "ture"));
    static_cast<void>(bench.reconcile("web"));
    bench.server.put(fakes::deployment("web", "false"));
    static_cast<void>(bench.reconcile("web"));
  }
  REQUIRE(bench.world.events() ==
          std::vector<std::string>{"UnrecognizedValue web", "UnrecognizedValue web"});
}

TEST_CASE("workloads: what is warned of is injected all the same", "[controller]") {
  Bench bench;
  Json job = fakes::deployment("web");
  job["apiVersion"] = "batch/v1";
  job["kind"] = "Job";
  bench.server.put(job);
  static_cast<void>(bench.reconcile("web"));
  static_cast<void>(bench.reconcile("web"));
  REQUIRE(bench.containers("web") == 2);
  REQUIRE(bench.world.events() == std::vector<std::string>{"NeverCompletes web", "Injected web"});
}

std::shared_ptr<const core::TemplateSet> private_sidecar() {
  return std::make_shared<const core::TemplateSet>(
      templates::parse_template("containers: [{name: envoy, image: 'envoy:1'}]\n"
                                "imagePullSecrets: [{name: regcred}]\n",
                                "test")
          .value());
}

TEST_CASE("workloads: pods keep the secrets of their service account", "[controller]") {
  std::vector<std::string> asked;
  base::Result<std::vector<std::string>> answer(std::vector<std::string>{"account"});
  Bench bench(
      WorkloadOptions{Rollout::Never, [&](const std::string& name_space, const std::string& account,
                                          const std::stop_token& /*stop*/) {
                        asked.push_back(name_space + "/" + account);
                        return answer;
                      }});
  bench.world.set_template(private_sidecar());
  Json object = fakes::deployment("web");
  object["spec"]["template"]["spec"]["serviceAccountName"] = "robot";
  bench.server.put(object);
  SECTION("which are added to the sidecar's") {
    static_cast<void>(bench.reconcile("web"));
    REQUIRE(bench.world.events() == std::vector<std::string>{"Injected web"});
    REQUIRE(asked == std::vector<std::string>{"shop/robot"});
    const Json secrets = bench.server.get("web")["spec"]["template"]["spec"]["imagePullSecrets"];
    REQUIRE(secrets.size() == 2);
  }
  SECTION("or are warned where it may not be read") {
    answer = base::Error{base::ErrorCode::Forbidden, "no"};
    static_cast<void>(bench.reconcile("web"));
    REQUIRE(bench.world.events() ==
            std::vector<std::string>{"HidesServiceAccountSecrets web", "Injected web"});
  }
  SECTION("and wait for a server that does not answer") {
    answer = base::Error{base::ErrorCode::Unavailable, "no"};
    REQUIRE(bench.reconcile("web").kind == Outcome::Kind::Retry);
    REQUIRE(bench.server.patches() == 0);
  }
}

TEST_CASE("workloads: the namespace can ask", "[controller]") {
  Bench bench;
  bench.server.put(fakes::deployment("web", ""));
  static_cast<void>(bench.reconcile("web"));
  REQUIRE(bench.server.patches() == 0);
  bench.world.name_space = std::make_shared<const core::MetaFacts>(
      core::MetaFacts{{{"initializer.kubernetes.io/envoy", "enabled"}}, {}});
  static_cast<void>(bench.reconcile("web"));
  REQUIRE(bench.containers("web") == 2);
}

TEST_CASE("workloads: without a template nothing happens", "[controller]") {
  Bench bench;
  bench.world.set_template(nullptr);
  bench.server.put(fakes::deployment("web"));
  REQUIRE(bench.reconcile("web").kind == Outcome::Kind::Done);
  REQUIRE(bench.server.patches() == 0);
}

}  // namespace
}  // namespace injector::controller
