#include "controller/workload_plan.h"

#include <catch2/catch.hpp>

#include "tests/controller/fakes.h"

namespace injector::controller {
namespace {

using base::Json;

const core::Policy kPolicy;

WorkloadPlan plan(const Json& object, const core::Template& tpl, Rollout rollout = Rollout::Never) {
  auto result = plan_workload(object, {tpl, kPolicy, nullptr}, rollout);
  if (!result) {
    FAIL(result.error().message);
  }
  return std::move(result).value();
}

Json applied(const Json& object, const Json& patch) {
  const auto kind = base::text_of(base::find(object, "kind"));
  return patch::apply_strategic(object, patch, *patch::schema_for_kind(kind)).value();
}

const Json& containers_of(const Json& deployment) {
  return *base::find(deployment, "spec", "template", "spec", "containers");
}

TEST_CASE("workload plan: a template that asks and lacks it is injected once", "[controller]") {
  const auto tpl = fakes::sidecar("envoy:1");
  const Json before = fakes::deployment("web");
  const WorkloadPlan first = plan(before, *tpl);
  REQUIRE(first.action == WorkloadAction::Inject);
  REQUIRE(first.containers == std::vector<std::string>{"envoy"});
  REQUIRE(base::text_of(base::find(first.patch, "metadata", "resourceVersion")) == "1");
  const Json after = applied(before, first.patch);
  REQUIRE(containers_of(after).size() == 2);
  REQUIRE(containers_of(after)[0]["name"] == "app");
  const WorkloadPlan second = plan(after, *tpl);
  REQUIRE(second.action == WorkloadAction::Nothing);
  REQUIRE(second.reason == core::Reason::AlreadyInitialized);
}

TEST_CASE("workload plan: nobody asked means nothing", "[controller]") {
  const auto tpl = fakes::sidecar("envoy:1");
  REQUIRE(plan(fakes::deployment("web", ""), *tpl).reason == core::Reason::NotRequested);
  REQUIRE(plan(fakes::deployment("web", "false"), *tpl).reason == core::Reason::OptedOut);
  REQUIRE(plan(fakes::deployment("web", "ture"), *tpl).reason == core::Reason::UnrecognizedValue);
}

TEST_CASE("workload plan: an outdated sidecar is replaced only in a rollout", "[controller]") {
  const auto old_template = fakes::sidecar("envoy:1");
  const auto new_template = fakes::sidecar("envoy:2");
  const Json bare = fakes::deployment("web");
  const Json old = applied(bare, plan(bare, *old_template).patch);
  REQUIRE(plan(old, *new_template).action == WorkloadAction::Nothing);
  const WorkloadPlan replace = plan(old, *new_template, Rollout::WhenOutdated);
  REQUIRE(replace.action == WorkloadAction::Replace);
  const Json now = applied(old, replace.patch);
  REQUIRE(containers_of(now).size() == 2);
  REQUIRE(containers_of(now)[1]["image"] == "envoy:2");
  REQUIRE(base::same(now, applied(bare, plan(bare, *new_template).patch)));
  REQUIRE(plan(now, *new_template, Rollout::WhenOutdated).action == WorkloadAction::Nothing);
}

TEST_CASE("workload plan: a sidecar that is no longer wanted stays", "[controller]") {
  const Json bare = fakes::deployment("web");
  Json injected = applied(bare, plan(bare, *fakes::sidecar("envoy:1")).patch);
  injected["spec"]["template"]["metadata"]["annotations"]["initializer.kubernetes.io/envoy"] =
      "false";
  REQUIRE(plan(injected, *fakes::sidecar("envoy:2"), Rollout::WhenOutdated).action ==
          WorkloadAction::Nothing);
}

TEST_CASE("workload plan: a volume of the same name is refused", "[controller]") {
  Json object = fakes::deployment("web");
  object["spec"]["template"]["spec"]["volumes"] = fakes::json(R"([{"name":"conf","emptyDir":{}}])");
  const WorkloadPlan refused = plan(object, *fakes::sidecar("envoy:1"));
  REQUIRE(refused.action == WorkloadAction::Refuse);
  REQUIRE(refused.detail.find("conf") != std::string::npos);
  REQUIRE(refused.patch.is_null());
}

TEST_CASE("workload plan: a cron job's template is two levels down", "[controller]") {
  Json object = fakes::json(R"({"apiVersion":"batch/v1","kind":"CronJob",
    "metadata":{"name":"nightly","namespace":"shop","resourceVersion":"7"}})");
  object["spec"]["jobTemplate"]["spec"]["template"] = fakes::pod_template("true");
  const WorkloadPlan made = plan(object, *fakes::sidecar("envoy:1"));
  REQUIRE(made.action == WorkloadAction::Inject);
  const Json after = applied(object, made.patch);
  REQUIRE(after["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"].size() == 2);
}

TEST_CASE("workload plan: malformed objects are errors, not crashes", "[controller]") {
  const auto tpl = fakes::sidecar("envoy:1");
  const auto fails = [&](const std::string& text) {
    return !plan_workload(fakes::json(text), {*tpl, kPolicy, nullptr}, Rollout::WhenOutdated);
  };
  REQUIRE(fails("[]"));
  REQUIRE(fails(R"({"kind":"ConfigMap"})"));
  REQUIRE(fails(R"({"kind":"Deployment"})"));
  REQUIRE(fails(R"({"kind":"Deployment","spec":{"template":{"spec":{"containers":[1]}}}})"));
  REQUIRE(fails(R"({"kind":"Deployment","spec":{"template":{"metadata":{"annotations":
    {"initializer.kubernetes.io/envoy-status":"{"}}}}})"));
}

TEST_CASE("workload plan: what a merge would lose is not sent", "[controller]") {
  const Json original = fakes::json(R"({"kind":"Pod","metadata":{"finalizers":["b","a"]}})");
  const Json wanted = fakes::json(R"({"kind":"Pod","metadata":{"finalizers":["a","b"]}})");
  REQUIRE_FALSE(guarded_patch(original, wanted));
}

}  // namespace
}  // namespace injector::controller
