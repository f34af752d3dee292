#include <atomic>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "controller/initializer_plan.h"
#include "controller/initializer_reconciler.h"
#include "runtime/object_loop.h"
#include "runtime/sleeper.h"
#include "tests/controller/fake_initializer_api.h"
#include "tests/controller/fakes.h"

namespace injector::controller {
namespace {

using base::Json;
using fakes::FakeInitializerApi;
using runtime::Outcome;

constexpr const char* kOurs = "envoy.initializer.kubernetes.io";
constexpr const char* kOther = "other.initializer.example.com";

Json pod(const std::string& name, const std::string& annotation = "true") {
  Json object = fakes::pod_template(annotation);
  object["apiVersion"] = "v1";
  object["kind"] = "Pod";
  object["metadata"]["name"] = name;
  return object;
}

Json waiting(const std::vector<std::string>& initializers) {
  Json object = pod("web");
  object["metadata"]["resourceVersion"] = "5";
  for (const std::string& name : initializers) {
    object["metadata"]["initializers"]["pending"].push_back({{"name", name}});
  }
  return object;
}

InitializerPlan plan(const Json& object) {
  const core::Policy policy;
  return plan_initializer(object, kOurs, {*fakes::sidecar("envoy:1"), policy, nullptr});
}

// A loop in its own thread, from construction to destruction.
struct RunningLoop {
  RunningLoop(FakeInitializerApi& api, fakes::World& world, std::size_t workers = 4)
      : reconciler(world.deps(), api, kOurs),
        loop(
            api, options(workers),
            [this](const std::string& key, const runtime::ObjectPtr& object,
                   const std::stop_token& stop) { return reconciler.reconcile(key, object, stop); },
            runtime::LoopContext{clock, sleeper, base::Logger::silent(), 1}),
        thread([this](const std::stop_token& stop) { loop.run(stop); }) {}

  static runtime::LoopOptions options(std::size_t workers) {
    runtime::LoopOptions made;
    made.name = "pods";
    made.kind = "Pod";
    made.workers = workers;
    made.resync = base::Duration(1000);
    made.transform = trim_initialized;
    return made;
  }

  base::SteadyClock clock;
  runtime::SteadySleeper sleeper;
  InitializerReconciler reconciler;
  runtime::ObjectLoop loop;
  std::jthread thread;
};

TEST_CASE("initializer plan: one patch adds the sidecar and takes our entry out", "[controller]") {
  const InitializerPlan made = plan(waiting({kOurs, kOther}));
  REQUIRE(made.action == InitializerAction::Inject);
  REQUIRE(base::same(made.patch.at("metadata").at("initializers"),
                     fakes::json(R"({"pending":[{"$patch":"delete",
                       "name":"envoy.initializer.kubernetes.io"}]})")));
  REQUIRE(base::text_of(base::find(made.patch, "metadata", "resourceVersion")) == "5");
  REQUIRE(base::find(made.patch, "spec", "$setElementOrder/containers") != nullptr);
}

TEST_CASE("initializer plan: acts only as the first in the line", "[controller]") {
  REQUIRE(plan(waiting({kOther, kOurs})).action == InitializerAction::Nothing);
  REQUIRE(plan(waiting({})).action == InitializerAction::Nothing);
  Json failed = waiting({kOurs});
  failed["metadata"]["initializers"]["result"] = {{"status", "Failure"}};
  REQUIRE(plan(failed).action == InitializerAction::Nothing);
}

TEST_CASE("initializer plan: a pod that does not ask is let go as it is", "[controller]") {
  Json object = waiting({kOurs});
  object["metadata"].erase("annotations");
  const InitializerPlan made = plan(object);
  REQUIRE(made.action == InitializerAction::Release);
  REQUIRE(base::find(made.patch, "spec") == nullptr);
  REQUIRE(made.patch.at("metadata").at("initializers").at("pending").size() == 1);
}

TEST_CASE("initializer plan: without the need for an annotation everybody gets it",
          "[controller]") {
  Json object = waiting({kOurs});
  object["metadata"].erase("annotations");
  core::Policy policy;
  policy.inject_by_default = true;
  REQUIRE(plan_initializer(object, kOurs, {*fakes::sidecar("envoy:1"), policy, nullptr}).action ==
          InitializerAction::Inject);
}

TEST_CASE("initializer plan: a pod that cannot be worked with is refused", "[controller]") {
  Json object = waiting({kOurs});
  object["spec"]["containers"] = Json::array({1});
  const InitializerPlan made = plan(object);
  REQUIRE(made.action == InitializerAction::Refuse);
  REQUIRE(base::text_of(base::find(made.patch, "metadata", "initializers", "result", "status")) ==
          "Failure");
  REQUIRE(base::find(made.patch, "metadata", "initializers", "pending") == nullptr);
}

TEST_CASE("initializer plan: the cache keeps of initialized pods their names only",
          "[controller]") {
  Json object = waiting({kOurs});
  object["metadata"]["managedFields"] = Json::array({Json::object()});
  const InitializerPlan before = plan(object);
  trim_initialized(object);
  REQUIRE(base::find(std::as_const(object), "metadata", "managedFields") == nullptr);
  REQUIRE(base::same(plan(object).patch, before.patch));
  object["metadata"].erase("initializers");
  trim_initialized(object);
  REQUIRE(base::same(object, fakes::json(R"({"apiVersion":"v1","kind":"Pod",
    "metadata":{"name":"web","resourceVersion":"5"}})")));
}

TEST_CASE("initializer: the creator gets its pod with the sidecar", "[controller][threads]") {
  FakeInitializerApi api({kOurs});
  fakes::World world;
  const RunningLoop running(api, world);
  REQUIRE(api.create(pod("web"), {}).code == 201);
  REQUIRE(api.create(pod("bare", ""), {}).code == 201);
  REQUIRE(api.get("web")->at("spec").at("containers").size() == 2);
  REQUIRE(api.get("bare")->at("spec").at("containers").size() == 1);
  REQUIRE(api.visible().size() == 2);
}

TEST_CASE("initializer: the creator of a refused pod is told why", "[controller][threads]") {
  FakeInitializerApi api({kOurs});
  fakes::World world;
  const RunningLoop running(api, world);
  Json object = pod("web");
  object["spec"]["volumes"] = fakes::json(R"([{"name":"conf","emptyDir":{}}])");
  const auto answer = api.create(object, {});
  REQUIRE(answer.code == 422);
  REQUIRE_FALSE(api.get("web"));
  REQUIRE(answer.body.at("message").get<std::string>().find("conf") != std::string::npos);
}

TEST_CASE("initializer: a sidecar that the server does not accept is a refusal",
          "[controller][threads]") {
  FakeInitializerApi api({kOurs});
  fakes::World world;
  core::Template broken = *fakes::sidecar("envoy:1")->default_for("shop");
  broken.volumes.clear();
  world.set_template(std::make_shared<const core::TemplateSet>(std::move(broken)));
  const RunningLoop running(api, world);
  const auto answer = api.create(pod("web"), {});
  REQUIRE(answer.code == 422);
  REQUIRE(answer.body.at("message").get<std::string>().find("volumeMounts") != std::string::npos);
}

TEST_CASE("initializer: entries of others stay", "[controller][threads]") {
  FakeInitializerApi api({kOurs, kOther});
  fakes::World world;
  const RunningLoop running(api, world);
  std::jthread creator(
      [&](const std::stop_token& stop) { static_cast<void>(api.create(pod("web"), stop)); });
  api.model().wait_for_patches(1);
  const Json pending = api.get("web")->at("metadata").at("initializers").at("pending");
  REQUIRE(base::same(pending, Json::array({{{"name", kOther}}})));
  REQUIRE(api.visible().empty());
}

TEST_CASE("initializer: gone, initialized and forbidden are what they are", "[controller]") {
  FakeInitializerApi api({kOurs});
  fakes::World world;
  InitializerReconciler reconciler(world.deps(), api, kOurs);
  std::stop_source now;
  now.request_stop();
  REQUIRE(api.create(pod("web"), now.get_token()).code == 504);
  const runtime::ObjectPtr seen = runtime::make_object(*api.get("web")).value();
  api.allow_initialize(false);
  REQUIRE(reconciler.reconcile("shop/web", seen, {}).kind == Outcome::Kind::Retry);
  api.allow_initialize(true);
  REQUIRE(reconciler.reconcile("shop/web", seen, {}).kind == Outcome::Kind::Done);
  REQUIRE(reconciler.reconcile("shop/web", seen, {}).kind == Outcome::Kind::Done);  // A lost race.
  REQUIRE(world.events() == std::vector<std::string>{"Injected web"});
  REQUIRE(api.model().remove("shop", "web").code == 200);
  REQUIRE(reconciler.reconcile("shop/web", seen, {}).kind == Outcome::Kind::Done);
  REQUIRE(reconciler.reconcile("shop/web", nullptr, {}).kind == Outcome::Kind::Done);
  REQUIRE(api.model().patch_answers() ==
          std::map<int, int>{{200, 1}, {403, 1}, {404, 1}, {422, 1}});
}

TEST_CASE("initializer: what another changed meanwhile is looked at again", "[controller]") {
  FakeInitializerApi api({kOurs});
  fakes::World world;
  InitializerReconciler reconciler(world.deps(), api, kOurs);
  std::stop_source now;
  now.request_stop();
  static_cast<void>(api.create(pod("web"), now.get_token()));
  const runtime::ObjectPtr seen = runtime::make_object(*api.get("web")).value();
  REQUIRE(api.patch("shop", "web", fakes::json(R"({"metadata":{"labels":{"a":"b"}}})"), {}));
  REQUIRE(reconciler.reconcile("shop/web", seen, {}).kind == Outcome::Kind::Retry);
  REQUIRE(api.model().patch_answers() == std::map<int, int>{{200, 1}, {409, 1}});
}

TEST_CASE("initializer: what quota forbids is refused in the server's words",
          "[controller][threads]") {
  FakeInitializerApi api({kOurs});
  api.model().exhaust_quota();
  fakes::World world;
  const RunningLoop running(api, world);
  const auto answer = api.create(pod("web"), {});
  REQUIRE(answer.code == 422);
  REQUIRE(answer.body.at("message").get<std::string>().find("exceeded quota: compute") !=
          std::string::npos);
  REQUIRE_FALSE(api.get("web"));
}

TEST_CASE("initializer: without a template only those who ask have to wait", "[controller]") {
  FakeInitializerApi api({kOurs});
  fakes::World world;
  world.set_template(nullptr);
  InitializerReconciler reconciler(world.deps(), api, kOurs);
  std::stop_source now;
  now.request_stop();
  for (const char* answer : {"", "true"}) {
    const std::string name = *answer == '\0' ? "bare" : "web";
    static_cast<void>(api.create(pod(name, answer), now.get_token()));
    const runtime::ObjectPtr seen = runtime::make_object(*api.get(name)).value();
    REQUIRE(reconciler.reconcile("shop/" + name, seen, {}).kind == Outcome::Kind::Done);
  }
  REQUIRE(api.visible().size() == 1);
  REQUIRE(base::text_of(base::find(api.visible().front(), "metadata", "name")) == "bare");
}

TEST_CASE("initializer: warnings become events", "[controller]") {
  FakeInitializerApi api({kOurs});
  fakes::World world;
  InitializerReconciler reconciler(world.deps(), api, kOurs);
  std::stop_source now;
  now.request_stop();
  Json misspelt = pod("web", "");
  misspelt["metadata"]["annotations"]["initializer.kubernetes.io/envoi"] = "true";
  static_cast<void>(api.create(misspelt, now.get_token()));
  const auto seen = runtime::make_object(*api.get("web")).value();
  REQUIRE(reconciler.reconcile("shop/web", seen, {}).kind == Outcome::Kind::Done);
  REQUIRE(world.events() == std::vector<std::string>{"MisspeltKey web"});
}

TEST_CASE("initializer: a pod is kept until its namespace is known", "[controller]") {
  FakeInitializerApi api({kOurs});
  fakes::World world;
  const auto known = std::exchange(world.name_space, nullptr);
  InitializerReconciler reconciler(world.deps(), api, kOurs);
  std::stop_source now;
  now.request_stop();
  static_cast<void>(api.create(pod("bare", ""), now.get_token()));
  const runtime::ObjectPtr seen = runtime::make_object(*api.get("bare")).value();
  REQUIRE(reconciler.reconcile("shop/bare", seen, {}).kind == Outcome::Kind::Retry);
  REQUIRE(api.model().patch_answers().empty());
  auto asks = *known;
  asks.labels.emplace_back("initializer.kubernetes.io/envoy", "true");
  world.name_space = std::make_shared<const core::MetaFacts>(asks);
  REQUIRE(reconciler.reconcile("shop/bare", seen, {}).kind == Outcome::Kind::Done);
  REQUIRE(api.get("bare")->at("spec").at("containers").size() == 2);
}

TEST_CASE("initializer: a dry run prints each pod once and sends nothing", "[controller]") {
  FakeInitializerApi api({kOurs});
  fakes::World world;
  InitializerReconciler reconciler(world.dry_surroundings(), api, kOurs);
  std::stop_source now;
  now.request_stop();
  Json refused = pod("bad");
  refused["spec"]["volumes"] = fakes::json(R"([{"name":"conf","emptyDir":{}}])");
  for (const Json& object : {pod("web"), pod("bare", ""), refused}) {
    static_cast<void>(api.create(object, now.get_token()));
  }
  for (int round = 0; round < 3; ++round) {
    for (const char* name : {"web", "bare", "bad"}) {
      const auto seen = runtime::make_object(*api.get(name)).value();
      REQUIRE(reconciler.reconcile(runtime::key_of(*seen), seen, {}).kind == Outcome::Kind::Done);
    }
  }
  REQUIRE(world.lines().size() == 3);
  REQUIRE(world.lines().at(0) == "Pod shop/web: would inject (envoy)");
  REQUIRE(world.lines().at(1).rfind("Pod shop/bare: would release (", 0) == 0);
  REQUIRE(world.lines().at(2).rfind("Pod shop/bad: would refuse (", 0) == 0);
  REQUIRE(api.model().patch_answers().empty());
  REQUIRE(world.events().empty());
}

TEST_CASE("initializer: an unrecognized value is let go with a warning", "[controller]") {
  FakeInitializerApi api({kOurs});
  fakes::World world;
  InitializerReconciler reconciler(world.deps(), api, kOurs);
  std::stop_source now;
  now.request_stop();
  static_cast<void>(api.create(pod("web", "ture"), now.get_token()));
  const auto seen = runtime::make_object(*api.get("web")).value();
  REQUIRE(reconciler.reconcile("shop/web", seen, {}).kind == Outcome::Kind::Done);
  REQUIRE(world.events() == std::vector<std::string>{"UnrecognizedValue web"});
  REQUIRE(api.visible().size() == 1);
}

// 10 creators, 100 Pods each; every fifth does not ask. `loops` runs the loops meanwhile.
template <class Loops>
void create_a_thousand(FakeInitializerApi& api, Loops loops) {
  constexpr int kCreators = 10;
  constexpr int kEach = 100;
  std::atomic<int> created = 0;
  {
    std::vector<std::jthread> creators;
    for (int creator = 0; creator < kCreators; ++creator) {
      creators.emplace_back([&api, &created, creator](const std::stop_token& stop) {
        for (int count = 0; count < kEach; ++count) {
          const std::string name = "p" + std::to_string(creator) + "-" + std::to_string(count);
          created += api.create(pod(name, count % 5 == 0 ? "" : "true"), stop).code == 201 ? 1 : 0;
        }
      });
    }
    loops([&] {
      for (std::jthread& creator : creators) {
        creator.join();
      }
    });
  }
  REQUIRE(created == kCreators * kEach);
  std::size_t containers = 0;
  for (const Json& each : api.visible()) {
    containers += each.at("spec").at("containers").size();
  }
  REQUIRE(api.visible().size() == kCreators * kEach);
  REQUIRE(containers == kCreators * kEach * 2 - kCreators * kEach / 5);
  REQUIRE(api.model().patch_answers().at(200) == kCreators * kEach);  // One accepted patch a Pod.
}

TEST_CASE("initializer: a thousand pods, none lost, none twice", "[controller][threads]") {
  FakeInitializerApi api({kOurs});
  fakes::World world;
  create_a_thousand(api, [&](auto join) {
    const RunningLoop running(api, world);
    join();
  });
}

TEST_CASE("initializer: nor when the loop is ended and another begins", "[controller][threads]") {
  FakeInitializerApi api({kOurs});
  fakes::World world;
  api.lose_answers(7);
  create_a_thousand(api, [&](auto join) {
    for (const int patches : {50, 300, 650}) {
      const RunningLoop running(api, world);
      api.model().wait_for_patches(patches);
    }
    const RunningLoop last(api, world);
    join();
  });
}

TEST_CASE("initializer: nor when two loops run at once", "[controller][threads]") {
  FakeInitializerApi api({kOurs});
  fakes::World world;
  create_a_thousand(api, [&](auto join) {
    const RunningLoop one(api, world);
    const RunningLoop two(api, world);
    join();
  });
}

}  // namespace
}  // namespace injector::controller
