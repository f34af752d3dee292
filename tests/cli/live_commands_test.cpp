// What explain OBJECT, uninject --live, lint --server and status do with what they find.

#include <map>
#include <sstream>
#include <string>

#include <catch2/catch.hpp>

#include "base/json_text.h"
#include "cli/decide.h"
#include "cli/explain_live.h"
#include "cli/lint_server.h"
#include "cli/status_printer.h"
#include "cli/status_report.h"
#include "cli/uninject_live.h"
#include "core/render.h"
#include "template/parser.h"
#include "tests/support/temp_dir.h"
#include "yaml/yaml.h"

namespace injector::cli {
namespace {

using base::Json;
using core::PodState;

Json yaml(const std::string& text) {
  auto read = yaml::read_yaml(text);
  if (!read) {
    FAIL(read.error().message);
  }
  return std::move(read.value().value);
}

core::Template template_of(const std::string& image) {
  return templates::parse_template("containers: [{name: envoy, image: " + image + "}]", "t")
      .value();
}

DecisionContext context() {
  return {template_of("envoy:2"), {}, {}};
}

Json deployment(const std::string& value = "true") {
  return yaml(R"(apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, resourceVersion: "7"}
spec:
  template:
    metadata: {annotations: {initializer.kubernetes.io/envoy: ")" +
              value + R"("}}
    spec: {containers: [{name: app, image: app}]}
)");
}

Json pod() {
  return yaml(R"(apiVersion: v1
kind: Pod
metadata:
  name: web-0
  namespace: shop
  annotations: {initializer.kubernetes.io/envoy: "true"}
spec: {containers: [{name: app, image: app}]}
)");
}

Json injected(Json object, const core::Template& tpl) {
  const DecisionContext with{core::Template(tpl), {}, {}};
  const auto decided = decide_object(object, with);
  Json& place = *core::pod_at(object, decided.value()->path);
  place = core::patched_object(std::move(place), decided.value()->decision.plan);
  return object;
}

Registration registered(const std::string& more = "", bool trusted = true) {
  return {{{"envoy-initializer/pods",
            yaml("rules: [{apiGroups: [''], apiVersions: [v1], resources: [pods], operations: "
                 "[CREATE]}]\n" +
                 more),
            trusted ? "signed the certificate" : "missing", trusted}},
          ""};
}

LiveReport report_on(const Json& object, const Registration& registration,
                     const Json& name_space = yaml("metadata: {name: shop}")) {
  static const DecisionContext kContext = context();
  auto report = explain_live({object, name_space, ""}, registration, kContext);
  if (!report) {
    FAIL(report.error().message);
  }
  return std::move(report).value();
}

TEST_CASE("explain live: a Pod that asked and runs without is missing, with what to do", "[cli]") {
  const LiveReport report = report_on(pod(), registered());
  CHECK(report.decision.reason == core::Reason::Injected);
  CHECK(report.decision.rule == core::Rule::PodAnnotation);
  CHECK(report.state == PodState::Missing);
  CHECK(report.stored == "not injected: it has no status annotation");
  REQUIRE(report.calls.size() == 1);
  CHECK(report.calls[0].second.called == Called::Yes);
  CHECK(report.advice.find("delete the Pod") != std::string::npos);
}

TEST_CASE("explain live: an injected object is decided as if it were made now", "[cli]") {
  const Json current = injected(pod(), template_of("envoy:2"));
  const LiveReport report = report_on(current, registered());
  CHECK(report.decision.reason == core::Reason::Injected);
  CHECK(report.state == PodState::Injected);
  CHECK(report.stored ==
        "injected from template " + template_of("envoy:2").hash + ", which is the current one");
  CHECK(report.advice.empty());
}

TEST_CASE("explain live: an object of another template is outdated", "[cli]") {
  const LiveReport report = report_on(injected(deployment(), template_of("envoy:1")), registered());
  CHECK(report.state == PodState::Outdated);
  CHECK(report.stored.find(template_of("envoy:1").hash + ", outdated: the current one is " +
                           template_of("envoy:2").hash) != std::string::npos);
  CHECK(report.advice.find("--rollout") != std::string::npos);
}

TEST_CASE("explain live: a webhook that is not called is named as the reason", "[cli]") {
  const LiveReport report = report_on(
      pod(),
      registered("objectSelector: {matchLabels: {initializer.kubernetes.io/envoy: 'true'}}"));
  CHECK(report.calls[0].second.called == Called::No);
  CHECK(report.advice.find("does not call the webhook") != std::string::npos);
  CHECK(report_on(pod(), {}).advice.find("no webhook is registered") == 0);
  CHECK(report_on(pod(), registered("", false)).advice.find("certificate") != std::string::npos);
}

TEST_CASE("explain live: the live Namespace counts", "[cli]") {
  Json silent = pod();
  silent["metadata"].erase("annotations");
  const Json asks =
      yaml("metadata: {name: shop, labels: {initializer.kubernetes.io/envoy: enabled}}");
  CHECK(report_on(silent, registered(), asks).decision.rule == core::Rule::NamespaceLabel);
  CHECK(report_on(silent, registered()).state == PodState::NotAsked);
}

TEST_CASE("explain live: both formats say the same", "[cli]") {
  const std::vector<LiveReport> reports{report_on(pod(), registered())};
  std::ostringstream text;
  write_live_reports(reports, {}, "configmap a/b (sha256:1)", {}, text);
  CHECK(text.str().rfind("template: configmap a/b (sha256:1)\npod/web-0 in namespace shop\n", 0) ==
        0);
  CHECK(text.str().find("envoy-initializer/pods: called: yes\n") != std::string::npos);
  std::ostringstream out;
  write_live_reports(reports, {"pod/x: not there"}, "configmap a/b (sha256:1)",
                     {.output = {ListFormat::Json}}, out);
  const Json json = base::read_json(out.str()).value();
  CHECK(json.at("template") == "configmap a/b (sha256:1)");
  CHECK(json.at("objects").at(0).at("state") == "missing");
  CHECK(json.at("objects").at(0).at("webhooks").at(0).at("called") == "yes");
  CHECK(json.at("failures").at(0) == "pod/x: not there");
}

// A cluster of a few objects.
struct FakeCluster {
  std::map<std::string, Json> objects;
  int changes = 0;

  [[nodiscard]] LiveObjects live() {
    return {[this](const std::string& name) -> base::Result<Json> {
              const auto found = objects.find(name);
              return found == objects.end()
                         ? base::Result<Json>(base::Error{base::ErrorCode::NotFound, "not found"})
                         : base::Result<Json>(found->second);
            },
            [this](const std::string& name, const Json& before,
                   const Json& wanted) -> base::Result<void> {
              CHECK(base::same(before, objects.at(name)));
              ++changes;
              objects[name] = wanted;
              return {};
            }};
  }
};

struct Said {
  int code = 0;
  std::string err;
};

Said uninject(FakeCluster& cluster, const std::vector<std::string>& names,
              Writing writing = Writing::Real) {
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  const int code = run_uninject_live(names, cluster.live(), {}, writing, {in, out, err});
  return {code, err.str()};
}

TEST_CASE("uninject live: gives back exactly what was there", "[cli]") {
  FakeCluster cluster{{{"deployment/web", injected(deployment("false"), template_of("e"))}}};
  cluster.objects["deployment/web"] = injected(deployment(), template_of("e"));
  const Said said = uninject(cluster, {"deployment/web"});
  CHECK(said.code == kDone);
  CHECK(said.err.find("deployment/web: uninjected (envoy)\n") != std::string::npos);
  CHECK(said.err.find("note: spec.template still asks for the sidecar") != std::string::npos);
  CHECK(base::same(cluster.objects["deployment/web"], deployment()));
}

TEST_CASE("uninject live: what is not injected is left alone", "[cli]") {
  FakeCluster cluster{{{"deploy/web", deployment()}}};
  const Said said = uninject(cluster, {"deploy/web"});
  CHECK(said.code == kDone);
  CHECK(said.err.find("deploy/web: skipped: not injected") == 0);
  CHECK(cluster.changes == 0);
}

TEST_CASE("uninject live: Pods and what belongs to a workload are refused with the way out",
          "[cli]") {
  Json owned = injected(deployment(), template_of("e"));
  owned["kind"] = "ReplicaSet";
  owned["metadata"]["ownerReferences"] =
      Json::array({Json({{"kind", "Deployment"}, {"name", "web"}, {"controller", true}})});
  FakeCluster cluster{{{"pod/web-0", injected(pod(), template_of("e"))}, {"rs/web-1", owned}}};
  const Said said = uninject(cluster, {"pod/web-0", "rs/web-1", "deployment/none"});
  CHECK(said.code == kFailed);
  CHECK(said.err.find("error: pod/web-0: the containers of a Pod that exists") == 0);
  CHECK(said.err.find("error: rs/web-1: it belongs to Deployment web") != std::string::npos);
  CHECK(said.err.find("error: deployment/none: not found") != std::string::npos);
  CHECK(cluster.changes == 0);
}

TEST_CASE("uninject live: one failure does not stop the others", "[cli]") {
  FakeCluster cluster{{{"rollouts.argoproj.io/web", injected(deployment(), template_of("e"))}}};
  cluster.objects["rollouts.argoproj.io/web"]["apiVersion"] = "argoproj.io/v1alpha1";
  cluster.objects["rollouts.argoproj.io/web"]["kind"] = "Rollout";
  const Said said =
      uninject(cluster, {"deployment/none", "rollouts.argoproj.io/web"}, Writing::DryRun);
  CHECK(said.code == kFailed);
  CHECK(said.err.find("rollouts.argoproj.io/web: uninjected (envoy) (dry run)") !=
        std::string::npos);
}

TEST_CASE("lint server: the server's complaints are results, one line each", "[cli]") {
  const tests::TempDir dir;
  const std::string file = dir.write("t.yaml", "containers: [{name: envoy, image: e}]\n");
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  const auto lint = [&](const core::ProbeVerdict& verdict) {
    out.str("");
    err.str("");
    return run_lint_server({file}, {}, [&](const core::Template&) { return verdict; },
                           {in, out, err});
  };
  CHECK(lint({core::ProbeOutcome::Accepted, "", {}}) == kDone);
  CHECK(out.str().empty());
  CHECK(
      lint({core::ProbeOutcome::Refused, "bad", {{"containers[0].image", "is odd"}, {"", "x"}}}) ==
      kFailed);
  CHECK(out.str() == file + ": containers[0].image: is odd\n" + file + ": x\n");
  CHECK(lint({core::ProbeOutcome::Undecided, "pods is forbidden", {}}) == kFailed);
  CHECK(err.str() == "error: " + file + ": not checked by the API server: pods is forbidden\n");
}

TEST_CASE("lint server: what the linter refuses is not sent", "[cli]") {
  const tests::TempDir dir;
  const std::string file = dir.write("t.yaml", "containers: [{image: e}]\n");
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  int asked = 0;
  const auto trial = [&](const core::Template&) {
    ++asked;
    return core::ProbeVerdict{core::ProbeOutcome::Accepted, "", {}};
  };
  CHECK(run_lint_server({file}, {}, trial, {in, out, err}) == kFailed);
  CHECK(asked == 0);
}

TEST_CASE("status: the first line and the JSON say what was compared with", "[cli]") {
  StatusReport report;
  report.template_source = "configmap a/b (sha256:1)";
  add_pod(pod(), nullptr, template_of("e"), {}, report);
  add_pod(injected(pod(), template_of("f")), nullptr, template_of("e"), {}, report);
  CHECK(report.count(PodState::Missing) == 1);
  CHECK(report.count(PodState::Outdated) == 1);
  std::ostringstream table;
  REQUIRE(write_status(report, {}, table));
  CHECK(table.str().rfind("template: configmap a/b (sha256:1)\nNAMESPACE", 0) == 0);
  CHECK(table.str().find("asked 2: injected 0, outdated 1, missing 1 (of 2 Pods)\n") !=
        std::string::npos);
  std::ostringstream json;
  REQUIRE(write_status(report, {.output = {ListFormat::Json}}, json));
  const Json read = base::read_json(json.str()).value();
  CHECK(read.at("template") == "configmap a/b (sha256:1)");
  CHECK(read.at("pods").at(0).at("state") == "missing");
}

TEST_CASE("status: Pods that ended or are on their way out are not counted", "[cli]") {
  StatusReport report;
  Json ended = pod();
  ended["status"]["phase"] = "Succeeded";
  Json leaving = pod();
  leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  add_pod(ended, nullptr, template_of("e"), {}, report);
  add_pod(leaving, nullptr, template_of("e"), {}, report);
  CHECK(report.rows.empty());
}

TEST_CASE("status: a key on a workload's own metadata is found", "[cli]") {
  Json misplaced = deployment();
  misplaced["metadata"]["annotations"] = Json({{"initializer.kubernetes.io/envoy", "true"}});
  misplaced["spec"]["template"]["metadata"].erase("annotations");
  StatusReport report;
  add_workload(misplaced, nullptr, template_of("e"), {}, report);
  add_workload(deployment(), nullptr, template_of("e"), {}, report);
  REQUIRE(report.warnings.size() == 1);
  CHECK(report.warnings[0].find("deployment/web in namespace shop: MisplacedKey: ") == 0);
  std::ostringstream table;
  REQUIRE(write_status(report, {}, table));
  CHECK(table.str().find("warning: deployment/web in namespace shop") != std::string::npos);
}

}  // namespace
}  // namespace injector::cli
