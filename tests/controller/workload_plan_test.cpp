#include "controller/workload_plan.h"

#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "patch/merge_patch.h"
#include "patch/patch_style.h"
#include "tests/controller/fakes.h"

namespace injector::controller {
namespace {

using base::Json;

const core::Policy kPolicy;

WorkloadPlan plan(const Json& object, const core::TemplateSet& tpl,
                  Rollout rollout = Rollout::Never) {
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

Json& annotations_of(Json& deployment) {
  return deployment["spec"]["template"]["metadata"]["annotations"];
}

TEST_CASE("workload plan: a template that says no gets exactly its sidecar taken out",
          "[controller]") {
  const auto tpl = fakes::sidecar("envoy:1");
  const Json bare = fakes::deployment("web");
  Json injected = applied(bare, plan(bare, *tpl).patch);
  annotations_of(injected)["initializer.kubernetes.io/envoy"] = "false";
  for (const Rollout rollout : {Rollout::Never, Rollout::WhenOutdated}) {
    const WorkloadPlan removal = plan(injected, *fakes::sidecar("envoy:2"), rollout);
    REQUIRE(removal.action == WorkloadAction::Remove);
    REQUIRE(removal.containers == std::vector<std::string>{"envoy"});
    REQUIRE(base::text_of(base::find(removal.patch, "metadata", "resourceVersion")) == "1");
    REQUIRE(base::same(applied(injected, removal.patch), fakes::deployment("web", "false")));
  }
}

TEST_CASE("workload plan: a key that is gone, or a namespace that says no, removes nothing",
          "[controller]") {
  const auto tpl = fakes::sidecar("envoy:1");
  const Json bare = fakes::deployment("web");
  Json injected = applied(bare, plan(bare, *tpl).patch);
  annotations_of(injected).erase("initializer.kubernetes.io/envoy");
  const core::MetaFacts no{{{"initializer.kubernetes.io/envoy", "false"}}, {}};
  for (const core::MetaFacts* name_space : {static_cast<const core::MetaFacts*>(nullptr), &no}) {
    const auto planned = plan_workload(injected, {*tpl, kPolicy, name_space}, Rollout::Never);
    REQUIRE(planned.value().action == WorkloadAction::Nothing);
  }
}

TEST_CASE("workload plan: a sidecar that is not of our making is not taken out", "[controller]") {
  Json own = fakes::deployment("web", "false");
  own["spec"]["template"]["spec"]["containers"].push_back({{"name", "envoy"}});
  REQUIRE(plan(own, *fakes::sidecar("envoy:1")).action == WorkloadAction::Nothing);
}

std::shared_ptr<const core::TemplateSet> private_sidecar() {
  return std::make_shared<const core::TemplateSet>(
      templates::parse_template("containers: [{name: envoy, image: 'envoy:1'}]\n"
                                "imagePullSecrets: [{name: regcred}]\n",
                                "test")
          .value());
}

std::vector<std::string> secrets_of(const Json& deployment) {
  std::vector<std::string> names;
  const Json* list = base::find(deployment, "spec", "template", "spec", "imagePullSecrets");
  for (const Json& secret : list == nullptr ? Json::array() : *list) {
    names.push_back(secret.at("name").get<std::string>());
  }
  return names;
}

TEST_CASE("workload plan: the service account's secrets are added, and taken out, with ours",
          "[controller]") {
  const auto tpl = private_sidecar();
  const Json before = fakes::deployment("web");
  const WorkloadPlan warned = plan(before, *tpl);
  REQUIRE(warned.service_account == "default");
  REQUIRE(warned.warnings.size() == 1);
  REQUIRE(warned.warnings.front().code == core::WarningCode::HidesServiceAccountSecrets);

  const std::vector<std::string> account{"account", "regcred"};
  const WorkloadPlan whole =
      plan_workload(before, {*tpl, kPolicy, nullptr, account}, Rollout::Never).value();
  REQUIRE(whole.warnings.empty());
  Json after = applied(before, whole.patch);
  const auto secrets = secrets_of(after);
  REQUIRE(std::set<std::string>(secrets.begin(), secrets.end()) ==
          std::set<std::string>{"account", "regcred"});
  REQUIRE(secrets.size() == 2);
  REQUIRE(plan(after, *tpl, Rollout::WhenOutdated).action == WorkloadAction::Nothing);

  annotations_of(after)["initializer.kubernetes.io/envoy"] = "false";
  REQUIRE(base::same(applied(after, plan(after, *tpl).patch), fakes::deployment("web", "false")));
}

Json rollout_object(const std::string& annotation) {
  Json object = fakes::deployment("web", annotation);
  object["apiVersion"] = "argoproj.io/v1alpha1";
  object["kind"] = "Rollout";
  object["spec"]["template"]["spec"]["containers"].push_back(
      {{"name", "odd"}, {"unknownList", {1, 2}}});
  return object;
}

TEST_CASE("workload plan: a custom resource with a pod template gets a merge patch",
          "[controller]") {
  const auto tpl = fakes::sidecar("envoy:1");
  const Json before = rollout_object("true");
  const WorkloadPlan made = plan(before, *tpl);
  REQUIRE(made.action == WorkloadAction::Inject);
  REQUIRE(base::to_text(made.patch).find('$') == std::string::npos);
  REQUIRE(base::text_of(base::find(made.patch, "metadata", "resourceVersion")) == "1");
  Json after = patch::apply_merge_patch(before, made.patch).value();
  REQUIRE(containers_of(after).size() == 3);
  REQUIRE(containers_of(after)[1] == containers_of(before)[1]);

  annotations_of(after)["initializer.kubernetes.io/envoy"] = "false";
  const WorkloadPlan removal = plan(after, *tpl);
  REQUIRE(removal.action == WorkloadAction::Remove);
  REQUIRE(
      base::same(patch::apply_merge_patch(after, removal.patch).value(), rollout_object("false")));
}

TEST_CASE("workload plan: somebody else's StatefulSet is no built-in one", "[controller]") {
  REQUIRE(patch::patch_style("apps/v1") == patch::PatchStyle::Strategic);
  REQUIRE(patch::patch_style("v1") == patch::PatchStyle::Strategic);
  REQUIRE(patch::patch_style("batch/v1beta1") == patch::PatchStyle::Strategic);
  REQUIRE(patch::patch_style("apps.kruise.io/v1beta1") == patch::PatchStyle::Merge);
  REQUIRE(patch::patch_style("apps.openshift.io/v1") == patch::PatchStyle::Merge);
}

TEST_CASE("workload plan: a null that a merge patch cannot say is an error", "[controller]") {
  Json before = rollout_object("true");
  Json wanted = before;
  wanted["spec"]["replicas"] = nullptr;
  REQUIRE_FALSE(guarded_patch(before, wanted));
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
