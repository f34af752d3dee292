#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "controller/repair_plan.h"
#include "controller/repair_reconciler.h"
#include "core/inject.h"
#include "core/render.h"
#include "tests/controller/fakes.h"
#include "tests/support/fake_clock.h"

namespace injector::controller {
namespace {

using namespace std::chrono_literals;
using base::Json;
using core::PodState;
using runtime::Outcome;

Json pod(const std::string& name, const std::string& owner = "") {
  Json object = fakes::pod_template("true");
  object["apiVersion"] = "v1";
  object["kind"] = "Pod";
  object["metadata"]["name"] = name;
  object["metadata"]["namespace"] = "shop";
  object["metadata"]["uid"] = "uid-" + name;
  object["metadata"]["resourceVersion"] = "1";
  object["spec"]["nodeName"] = "node";
  object["status"]["phase"] = "Running";
  if (!owner.empty()) {
    object["metadata"]["ownerReferences"] = Json::array();
    object["metadata"]["ownerReferences"].push_back(
        {{"kind", "ReplicaSet"}, {"name", owner}, {"uid", owner}, {"controller", true}});
  }
  return object;
}

// What the webhook would make of it.
Json injected(const Json& object, const core::TemplateSet& tpl) {
  const auto facts = core::pod_facts(object).value();
  return core::patched_object(object, core::inject(facts, nullptr, tpl, core::Policy()).plan);
}

class FakeEvictor final : public cluster::PodEvictor {
 public:
  base::Result<Json> get(const std::string& /*name_space*/, const std::string& name,
                         const std::stop_token& /*stop*/) override {
    return pods.at(name);
  }

  base::Result<Json> dry_run_create(const Json& object, const std::stop_token& /*stop*/) override {
    probes.push_back(object);
    return webhook == nullptr ? object : injected(object, *webhook);
  }

  base::Result<void> evict(const runtime::ObjectReference& about,
                           const std::stop_token& /*stop*/) override {
    evicted.push_back(about.name);
    return answer;
  }

  std::map<std::string, Json> pods;
  std::shared_ptr<const core::TemplateSet> webhook =
      fakes::sidecar("envoy:1");  // Null: it is away.
  base::Result<void> answer;
  std::vector<Json> probes;
  std::vector<std::string> evicted;
};

/// Outlives the processes that use it.
class FakeTurns final : public cluster::TurnStore {
 public:
  base::Result<std::map<std::string, WallTime>> load(const std::stop_token& /*stop*/) override {
    if (failure) {
      return *failure;
    }
    return turns;
  }

  base::Result<void> write(const std::map<std::string, std::optional<WallTime>>& changes,
                           const std::stop_token& /*stop*/) override {
    if (failure) {
      return *failure;
    }
    for (const auto& [owner, until] : changes) {
      if (until) {
        turns[owner] = *until;
      } else {
        turns.erase(owner);
      }
    }
    return {};
  }

  std::map<std::string, WallTime> turns;
  std::optional<base::Error> failure;
};

enum class Run { Dry, InEarnest };

struct Bench {
  explicit Bench(const RepairOptions& options, Run run = Run::InEarnest)
      : reconciler(run == Run::Dry ? world.dry_surroundings() : world.deps(),
                   {evictor, turns, clock}, timed(options)) {}

  RepairOptions timed(RepairOptions options) {
    options.wall_clock = [this] {
      return WallTime(
          std::chrono::duration_cast<WallTime::duration>(clock.now().time_since_epoch()));
    };
    return options;
  }

  /// Another process, or another leader, on the same cluster.
  std::unique_ptr<RepairReconciler> successor(const RepairOptions& options) {
    return std::make_unique<RepairReconciler>(world.deps(), RepairTools{evictor, turns, clock},
                                              timed(options));
  }

  Outcome reconcile(const Json& object) {
    const auto cached = runtime::make_object(object).value();
    evictor.pods[cached->name] = object;
    return reconciler.reconcile(runtime::key_of(*cached), cached, {});
  }

  fakes::World world;
  tests::FakeClock clock;
  FakeEvictor evictor;
  FakeTurns turns;
  RepairReconciler reconciler;
};

const RepairOptions kReport{};
const RepairOptions kEvict{.evict_missing = true};
const RepairOptions kEvictOutdated{.evict_outdated = true};

TEST_CASE("repair: a pod without its sidecar is reported once", "[controller]") {
  Bench bench(kReport);
  for (int round = 0; round < 3; ++round) {
    REQUIRE(bench.reconcile(pod("web", "rs")).kind == Outcome::Kind::Done);
  }
  REQUIRE(bench.world.events() == std::vector<std::string>{"SidecarMissing web"});
  REQUIRE(bench.world.shows(R"(envoy_initializer_pods{state="missing"} 1)"));
  REQUIRE(bench.evictor.evicted.empty());
  REQUIRE(bench.reconciler.reconcile("shop/web", nullptr, {}).kind == Outcome::Kind::Done);
  REQUIRE(bench.world.shows(R"(envoy_initializer_pods{state="missing"} 0)"));
}

TEST_CASE("repair: an outdated sidecar is reported when the template changes", "[controller]") {
  Bench bench(kReport);
  const Json object = injected(pod("web"), *fakes::sidecar("envoy:1"));
  static_cast<void>(bench.reconcile(object));
  REQUIRE(bench.world.shows(R"(envoy_initializer_pods{state="injected"} 1)"));
  bench.world.set_template(fakes::sidecar("envoy:2"));
  static_cast<void>(bench.reconcile(object));
  REQUIRE(bench.world.events() == std::vector<std::string>{"SidecarOutdated web"});
  REQUIRE(bench.world.shows(R"(envoy_initializer_pods{state="injected"} 0)"));
  REQUIRE(bench.world.shows(R"(envoy_initializer_pods{state="outdated"} 1)"));
}

TEST_CASE("repair: pods that ended or are on their way out are nobody's business", "[controller]") {
  Bench bench(kEvict);
  Json ended = pod("ended", "rs");
  ended["status"]["phase"] = "Succeeded";
  Json leaving = pod("leaving", "rs");
  leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  static_cast<void>(bench.reconcile(ended));
  static_cast<void>(bench.reconcile(leaving));
  REQUIRE(bench.world.events().empty());
  REQUIRE(bench.evictor.evicted.empty());
}

TEST_CASE("repair: evicts a pod that somebody will make anew", "[controller]") {
  Bench bench(kEvict);
  REQUIRE(bench.reconcile(pod("web", "rs")).kind == Outcome::Kind::Done);
  REQUIRE(bench.evictor.evicted == std::vector<std::string>{"web"});
  REQUIRE(bench.world.shows(R"(envoy_initializer_evictions_total{result="done"} 1)"));
  const Json& probe = bench.evictor.probes.at(0);
  REQUIRE(base::find(probe, "metadata", "name") == nullptr);
  REQUIRE(base::find(probe, "spec", "nodeName") == nullptr);
}

TEST_CASE("repair: a bare pod is never evicted", "[controller]") {
  Bench bench(kEvict);
  static_cast<void>(bench.reconcile(pod("web")));
  REQUIRE(bench.evictor.evicted.empty());
}

TEST_CASE("repair: nothing is evicted while the webhook does not inject", "[controller]") {
  Bench bench(kEvict);
  bench.evictor.webhook = nullptr;
  REQUIRE(bench.reconcile(pod("web", "rs")).kind == Outcome::Kind::RequeueAfter);
  REQUIRE(bench.evictor.evicted.empty());
  SECTION("nor while it injects another template") {
    bench.evictor.webhook = fakes::sidecar("envoy:0");
    bench.clock.advance(10min);
    REQUIRE(bench.reconcile(pod("web", "rs")).kind == Outcome::Kind::RequeueAfter);
    REQUIRE(bench.evictor.probes.size() == 2);
    REQUIRE(bench.evictor.evicted.empty());
  }
}

TEST_CASE("repair: missing and outdated pods are evicted each by its own word", "[controller]") {
  const Json missing = pod("missing", "one");
  const Json outdated = injected(pod("outdated", "two"), *fakes::sidecar("envoy:0"));
  const auto evicted_by = [&](const RepairOptions& options) {
    Bench bench(options);
    static_cast<void>(bench.reconcile(missing));
    bench.clock.advance(1min);
    static_cast<void>(bench.reconcile(outdated));
    REQUIRE(bench.world.events().size() == 2 + bench.evictor.evicted.size());  // Both reported.
    return bench.evictor.evicted;
  };
  REQUIRE(evicted_by(kReport).empty());
  REQUIRE(evicted_by(kEvict) == std::vector<std::string>{"missing"});
  REQUIRE(evicted_by(kEvictOutdated) == std::vector<std::string>{"outdated"});
  REQUIRE(evicted_by({.evict_missing = true, .evict_outdated = true}).size() == 2);
}

TEST_CASE("repair: the next leader knows whose pod was evicted", "[controller]") {
  Bench bench(kEvict);
  static_cast<void>(bench.reconcile(pod("a", "rs")));
  REQUIRE(bench.evictor.evicted == std::vector<std::string>{"a"});
  const auto next = bench.successor(kEvict);
  const auto look = [&](const std::string& name, const std::string& owner) {
    const Json object = pod(name, owner);
    bench.evictor.pods[name] = object;
    const auto cached = runtime::make_object(object).value();
    return next->reconcile(runtime::key_of(*cached), cached, {}).kind;
  };
  bench.clock.advance(10min - 1ms);
  REQUIRE(look("b", "rs") == Outcome::Kind::RequeueAfter);
  REQUIRE(bench.evictor.evicted == std::vector<std::string>{"a"});
  bench.clock.advance(1ms);
  REQUIRE(look("b", "rs") == Outcome::Kind::Done);
  REQUIRE(bench.evictor.evicted == std::vector<std::string>{"a", "b"});
}

TEST_CASE("repair: what is past is struck out, and so is what did not happen", "[controller]") {
  Bench bench(kEvict);
  static_cast<void>(bench.reconcile(pod("a", "one")));
  REQUIRE(bench.turns.turns.contains("one"));
  bench.clock.advance(10min);
  static_cast<void>(bench.reconcile(pod("b", "two")));
  REQUIRE_FALSE(bench.turns.turns.contains("one"));
  REQUIRE(bench.turns.turns.contains("two"));
  bench.clock.advance(1min);
  bench.evictor.answer = base::Error{base::ErrorCode::TooManyRequests, "budget"};
  static_cast<void>(bench.reconcile(pod("c", "three")));
  REQUIRE_FALSE(bench.turns.turns.contains("three"));
}

TEST_CASE("repair: what cannot be written down is not evicted", "[controller]") {
  Bench bench(kEvict);
  bench.turns.failure = base::Error{base::ErrorCode::Forbidden, "configmaps"};
  REQUIRE(bench.reconcile(pod("a", "rs")).kind == Outcome::Kind::Retry);
  REQUIRE(bench.evictor.evicted.empty());
  bench.turns.failure.reset();
  REQUIRE(bench.reconcile(pod("b", "other")).kind == Outcome::Kind::Done);
  bench.clock.advance(1min);
  bench.turns.failure = base::Error{base::ErrorCode::Forbidden, "configmaps"};
  REQUIRE(bench.reconcile(pod("a", "rs")).kind == Outcome::Kind::RequeueAfter);
  REQUIRE(bench.evictor.evicted == std::vector<std::string>{"b"});
}

TEST_CASE("repair: a dry run writes nothing down", "[controller]") {
  Bench bench(kEvict, Run::Dry);
  static_cast<void>(bench.reconcile(pod("web", "rs")));
  REQUIRE(bench.turns.turns.empty());
}

TEST_CASE("repair: the probe of an outdated pod has not the old sidecar", "[controller]") {
  Bench bench(kEvictOutdated);
  bench.world.set_template(fakes::sidecar("envoy:2"));
  bench.evictor.webhook = fakes::sidecar("envoy:2");
  static_cast<void>(bench.reconcile(injected(pod("web", "rs"), *fakes::sidecar("envoy:1"))));
  REQUIRE(bench.evictor.probes.at(0)["spec"]["containers"].size() == 1);
  REQUIRE(bench.evictor.evicted == std::vector<std::string>{"web"});
}

TEST_CASE("repair: an owner loses one pod in ten minutes", "[controller]") {
  Bench bench(kEvict);
  static_cast<void>(bench.reconcile(pod("a", "rs")));
  bench.clock.advance(10min - 1ms);
  REQUIRE(bench.reconcile(pod("b", "rs")).kind == Outcome::Kind::RequeueAfter);
  REQUIRE(bench.evictor.evicted == std::vector<std::string>{"a"});
  bench.clock.advance(1ms);
  static_cast<void>(bench.reconcile(pod("b", "rs")));
  REQUIRE(bench.evictor.evicted == std::vector<std::string>{"a", "b"});
}

TEST_CASE("repair: an owner whose pod was not evicted gets its next chance soon", "[controller]") {
  Bench bench(kEvict);
  SECTION("as the webhook was away") {
    bench.evictor.webhook = nullptr;
  }
  SECTION("as a disruption budget held") {
    bench.evictor.answer = base::Error{base::ErrorCode::TooManyRequests, "budget"};
  }
  REQUIRE(bench.reconcile(pod("a", "rs")).kind == Outcome::Kind::RequeueAfter);
  const auto probes = bench.evictor.probes.size();
  bench.clock.advance(RepairReconciler::kLater - 1ms);
  static_cast<void>(bench.reconcile(pod("b", "rs")));
  REQUIRE(bench.evictor.probes.size() == probes);
  bench.evictor.webhook = fakes::sidecar("envoy:1");
  bench.evictor.answer = {};
  bench.clock.advance(1ms);
  REQUIRE(bench.reconcile(pod("b", "rs")).kind == Outcome::Kind::Done);
  REQUIRE(bench.evictor.evicted.back() == "b");
}

TEST_CASE("repair: a dry run prints each pod once", "[controller]") {
  Bench bench(kEvict, Run::Dry);
  for (int round = 0; round < 3; ++round) {
    static_cast<void>(bench.reconcile(pod("web", "rs")));
    bench.clock.advance(10min);
  }
  REQUIRE(bench.world.lines() == std::vector<std::string>{"Pod shop/web: would report (missing)",
                                                          "Pod shop/web: would evict (missing)"});
  REQUIRE(bench.world.events().empty());
}

TEST_CASE("repair: evictions keep to the rate", "[controller]") {
  Bench bench(kEvict);
  for (int second = 0; second < 60; ++second) {
    const std::string name = "p" + std::to_string(second);
    static_cast<void>(bench.reconcile(pod(name, "rs-" + name)));
    bench.clock.advance(1s);
  }
  REQUIRE(bench.evictor.evicted.size() == 6);
}

TEST_CASE("repair: a disruption budget is waited for", "[controller]") {
  Bench bench(kEvict);
  bench.evictor.answer = base::Error{base::ErrorCode::TooManyRequests, "budget"};
  REQUIRE(bench.reconcile(pod("web", "rs")).kind == Outcome::Kind::RequeueAfter);
  bench.evictor.answer = base::Error{base::ErrorCode::NotFound, "gone"};
  bench.clock.advance(10min);
  REQUIRE(bench.reconcile(pod("web", "rs")).kind == Outcome::Kind::Done);
}

}  // namespace
}  // namespace injector::controller
