#include "core/inject.h"

#include <string>

#include <catch2/catch.hpp>

#include "core/decide.h"
#include "core/pod_state.h"
#include "core/remove.h"
#include "core/render.h"

namespace injector::core {
namespace {

using base::Json;

Template envoy() {
  Template tpl;
  tpl.containers.emplace_back(Json::parse(
      R"({"name":"envoy","image":"envoy:1","ports":[{"containerPort":80,"protocol":"TCP"}]})"));
  tpl.volumes.emplace_back(Json::parse(R"({"name":"envoy-conf","configMap":{"name":"envoy"}})"));
  tpl.hash = hash_of(tpl);
  return tpl;
}

Json pod(const char* metadata, const char* spec = R"({"containers":[{"name":"app"}]})") {
  return Json::parse(std::string(R"({"kind":"Pod","metadata":)") + metadata + R"(,"spec":)" + spec +
                     "}");
}

const char* const kAsked = R"({"annotations":{"initializer.kubernetes.io/envoy":"true"}})";

Decision decide(const Json& object, const Policy& policy = {}, const MetaFacts* ns = nullptr) {
  static const Template kEnvoy = envoy();
  return inject(pod_facts(object).value(), ns, kEnvoy, policy);
}

std::string annotated(const std::string& value) {
  return R"({"annotations":{"initializer.kubernetes.io/envoy":")" + value + "\"}}";
}

TEST_CASE("inject: true and enabled ask, false and disabled decline, in any case", "[core]") {
  for (const char* yes : {"true", "enabled", "TRUE", "Enabled"}) {
    REQUIRE(decide(pod(annotated(yes).c_str())).reason == Reason::Injected);
  }
  for (const char* no : {"false", "disabled", "False", "DISABLED"}) {
    REQUIRE(decide(pod(annotated(no).c_str())).reason == Reason::OptedOut);
  }
}

TEST_CASE("inject: any other value is skipped with a warning", "[core]") {
  for (const char* typo : {"enable", "ture", "", "yes", "1", " true"}) {
    const Decision decision = decide(pod(annotated(typo).c_str()));
    REQUIRE(decision.outcome == Outcome::Skip);
    REQUIRE(decision.reason == Reason::UnrecognizedValue);
    REQUIRE(decision.warnings.size() == 1);
    REQUIRE(decision.warnings.front().code == WarningCode::UnrecognizedValue);
  }
}

TEST_CASE(
    "inject: the first of pod annotation, pod label, namespace annotation, namespace label wins",
    "[core]") {
  const std::string key = "initializer.kubernetes.io/envoy";
  const MetaFacts labelled{{{key, "true"}}, {}};
  const MetaFacts both{{{key, "true"}}, {{key, "false"}}};
  const auto rule_of = [](const Decision& decision) {
    return std::string(to_string(decision.rule));
  };

  REQUIRE(rule_of(decide(pod("{}"), {}, &labelled)) == "namespace label");
  REQUIRE(decide(pod("{}"), {}, &labelled).outcome == Outcome::Inject);
  REQUIRE(rule_of(decide(pod("{}"), {}, &both)) == "namespace annotation");
  REQUIRE(decide(pod("{}"), {}, &both).reason == Reason::OptedOut);

  const Json label = pod(R"({"labels":{"initializer.kubernetes.io/envoy":"true"}})");
  REQUIRE(rule_of(decide(label, {}, &both)) == "pod label");
  REQUIRE(decide(label, {}, &both).outcome == Outcome::Inject);

  const Json annotation = pod(R"({"labels":{"initializer.kubernetes.io/envoy":"true"},
                                  "annotations":{"initializer.kubernetes.io/envoy":"false"}})");
  REQUIRE(rule_of(decide(annotation, {}, &both)) == "pod annotation");
  REQUIRE(decide(annotation, {}, &labelled).reason == Reason::OptedOut);
}

TEST_CASE("inject: an unclear pod annotation is not overruled by the namespace", "[core]") {
  const MetaFacts labelled{{{"initializer.kubernetes.io/envoy", "true"}}, {}};
  REQUIRE(decide(pod(annotated("ture").c_str()), {}, &labelled).reason ==
          Reason::UnrecognizedValue);
}

TEST_CASE("inject: the default decides where nobody has an answer", "[core]") {
  Policy policy;
  REQUIRE(decide(pod("{}"), policy).reason == Reason::NotRequested);
  policy.inject_by_default = true;
  REQUIRE(decide(pod("{}"), policy).reason == Reason::Injected);
  REQUIRE(decide(pod(annotated("false").c_str()), policy).reason == Reason::OptedOut);
}

TEST_CASE("inject: the key can be changed", "[core]") {
  Policy policy;
  policy.key = "sidecar.example.com/inject";
  const Json asked = pod(R"({"annotations":{"sidecar.example.com/inject":"true"}})");
  const Decision decision = decide(asked, policy);
  REQUIRE(decision.reason == Reason::Injected);
  REQUIRE(decision.plan.annotations.back().first == "sidecar.example.com/inject-status");
  REQUIRE(decide(pod(kAsked), policy).reason == Reason::NotRequested);
}

TEST_CASE("inject: skips a pod on the host network", "[core]") {
  REQUIRE(decide(pod(kAsked, R"({"hostNetwork":true,"containers":[]})")).reason ==
          Reason::HostNetwork);
}

TEST_CASE("inject: skips a Windows pod, by its os or by its node selector", "[core]") {
  for (const char* spec : {R"({"os":{"name":"windows"},"containers":[]})",
                           R"({"nodeSelector":{"kubernetes.io/os":"windows"},"containers":[]})",
                           R"({"nodeSelector":{"beta.kubernetes.io/os":"windows"},
                               "containers":[]})"}) {
    const Decision decision = decide(pod(kAsked, spec));
    REQUIRE(decision.outcome == Outcome::Skip);
    REQUIRE(decision.reason == Reason::WindowsPod);
  }
  REQUIRE(decide(pod(kAsked, R"({"os":{"name":"linux"},"containers":[],
                                 "nodeSelector":{"kubernetes.io/os":"linux"}})"))
              .reason == Reason::Injected);
  REQUIRE(decide(pod("{}", R"({"os":{"name":"windows"},"containers":[]})")).reason ==
          Reason::NotRequested);
}

TEST_CASE("inject: a job's pod with a plain sidecar never completes, with a native one it does",
          "[core]") {
  const Json owned = pod(R"({"annotations":{"initializer.kubernetes.io/envoy":"true"},
      "ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"j","controller":true}]})");
  const Decision plain = decide(owned);
  REQUIRE(plain.outcome == Outcome::Inject);
  REQUIRE(plain.warnings.size() == 1);
  REQUIRE(plain.warnings.front().code == WarningCode::NeverCompletes);

  Template native;
  native.init_containers.emplace_back(
      Json::parse(R"({"name":"envoy","image":"envoy:1","restartPolicy":"Always"})"));
  REQUIRE(inject(pod_facts(owned).value(), nullptr, native, {}).warnings.empty());
}

TEST_CASE("inject: somebody else's Job is not a Job", "[core]") {
  REQUIRE(decide(pod(R"({"annotations":{"initializer.kubernetes.io/envoy":"true"},
      "ownerReferences":[{"apiVersion":"example.com/v1","kind":"Job","name":"j",
                          "controller":true}]})"))
              .warnings.empty());
}

TEST_CASE("inject: the number of warnings does not grow with the pod", "[core]") {
  Json many = pod(kAsked);
  Json typos = pod(R"({"annotations":{}})");
  for (int i = 0; i < 50; ++i) {
    many["spec"]["containers"].push_back(Json::parse(R"({"ports":[{"containerPort":80}]})"));
    typos["metadata"]["annotations"]["initializer.kubernetes.io/env" + std::to_string(i)] = "true";
  }
  REQUIRE(decide(many).warnings.size() == 1);
  REQUIRE(decide(typos).warnings.size() == 3);
}

TEST_CASE("inject: skips a mirror pod", "[core]") {
  REQUIRE(decide(pod(R"({"annotations":{"initializer.kubernetes.io/envoy":"true",
                                        "kubernetes.io/config.mirror":"abc"}})"))
              .reason == Reason::MirrorPod);
}

TEST_CASE("inject: a container or init container of the sidecar's name means initialized",
          "[core]") {
  REQUIRE(decide(pod(kAsked, R"({"containers":[{"name":"envoy"}]})")).reason ==
          Reason::AlreadyInitialized);
  REQUIRE(decide(pod(kAsked, R"({"containers":[],"initContainers":[{"name":"envoy"}]})")).reason ==
          Reason::AlreadyInitialized);
}

TEST_CASE("inject: an injected pod is AlreadyInitialized, also when the opt-in is gone", "[core]") {
  const Json original = pod(kAsked);
  Json patched = patched_object(original, decide(original).plan);
  REQUIRE(decide(patched).reason == Reason::AlreadyInitialized);
  patched["metadata"]["annotations"].erase("initializer.kubernetes.io/envoy");
  patched["spec"]["containers"].erase(1);
  REQUIRE(decide(patched).reason == Reason::AlreadyInitialized);
}

TEST_CASE("inject: an equal volume is shared, also with the server's defaults filled in",
          "[core]") {
  for (const char* volume :
       {R"({"name":"envoy-conf","configMap":{"name":"envoy"}})",
        R"({"configMap":{"defaultMode":420,"name":"envoy"},"name":"envoy-conf"})"}) {
    const Json shared =
        pod(kAsked,
            (std::string(R"({"containers":[{"name":"app"}],"volumes":[)") + volume + "]}").c_str());
    const Decision decision = decide(shared);
    REQUIRE(decision.outcome == Outcome::Inject);
    REQUIRE(decision.plan.volumes.empty());
  }
}

TEST_CASE("inject: another volume of the name is refused, or skipped if so configured", "[core]") {
  const Json clash = pod(R"({"name":"web","namespace":"shop",
                             "annotations":{"initializer.kubernetes.io/envoy":"true"}})",
                         R"({"containers":[],"volumes":[{"name":"envoy-conf","emptyDir":{}}]})");
  Policy policy;
  REQUIRE(decide(clash, policy).outcome == Outcome::Refuse);
  REQUIRE(decide(clash, policy).reason == Reason::VolumeConflict);
  REQUIRE_THAT(decide(clash, policy).detail,
               Catch::Contains("shop/web") && Catch::Contains("envoy-conf"));
  policy.on_conflict = OnConflict::Skip;
  REQUIRE(decide(clash, policy).outcome == Outcome::Skip);
  REQUIRE(decide(clash, policy).reason == Reason::VolumeConflict);
}

TEST_CASE("inject: warns of a port that the app uses, by number and protocol", "[core]") {
  const auto warnings = [](const char* port) {
    return decide(pod(kAsked,
                      (std::string(R"({"containers":[{"name":"nginx","ports":[)") + port + "]}]}")
                          .c_str()))
        .warnings;
  };
  REQUIRE(warnings(R"({"containerPort":80})").size() == 1);
  REQUIRE(warnings(R"({"containerPort":80})").front().code == WarningCode::PortConflict);
  REQUIRE(warnings(R"({"containerPort":80,"protocol":"UDP"})").empty());
  REQUIRE(warnings(R"({"containerPort":81})").empty());
}

TEST_CASE("inject: a key a character or two off is warned about when nobody asked", "[core]") {
  for (const char* typo : {"initializer.kubernetes.io/envy", "initialiser.kubernetes.io/envoy",
                           "initializer.kubernetes.io/evnoy"}) {
    const Decision decision =
        decide(pod((std::string(R"({"annotations":{")") + typo + R"(":"true"}})").c_str()));
    REQUIRE(decision.reason == Reason::NotRequested);
    REQUIRE(decision.warnings.size() == 1);
    REQUIRE(decision.warnings.front().code == WarningCode::MisspeltKey);
  }
  REQUIRE(decide(pod(R"({"annotations":{"initializer.kubernetes.io/nginx":"true"}})"))
              .warnings.empty());
}

TEST_CASE("inject: the pod's own labels and annotations are never replaced", "[core]") {
  Template tpl = envoy();
  tpl.labels = {{"team", "mesh"}, {"sidecar", "envoy"}};
  tpl.annotations = {{"note", "ours"}};
  const Json original = pod(R"({"labels":{"team":"shop"},
      "annotations":{"initializer.kubernetes.io/envoy":"true","note":"theirs"}})");
  const Decision decision = inject(pod_facts(original).value(), nullptr, tpl, {});
  const Json patched = patched_object(original, decision.plan);
  REQUIRE(patched.at("metadata").at("labels") == Json({{"team", "shop"}, {"sidecar", "envoy"}}));
  REQUIRE(patched.at("metadata").at("annotations").at("note") == "theirs");
}

DecidedPod decide_workload(const char* text, const Template& tpl) {
  const Json object = Json::parse(text);
  const auto path = pod_path(object).value();
  return decide({object, path, *pod_at(object, path)}, nullptr, TemplateSet::view_of(tpl), {})
      .value();
}

TEST_CASE("decide: warns of Jobs and CronJobs by their kind", "[core]") {
  const Template tpl = envoy();
  for (const char* text :
       {R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j"},"spec":{"template":{
            "metadata":{"annotations":{"initializer.kubernetes.io/envoy":"true"}},
            "spec":{"containers":[]}}}})",
        R"({"apiVersion":"batch/v1","kind":"CronJob","spec":{"jobTemplate":{"spec":{"template":{
            "metadata":{"annotations":{"initializer.kubernetes.io/envoy":"true"}},
            "spec":{"containers":[]}}}}}})"}) {
    const Decision decision = decide_workload(text, tpl).decision;
    REQUIRE(decision.warnings.size() == 1);
    REQUIRE(decision.warnings.front().code == WarningCode::NeverCompletes);
  }
}

TEST_CASE("decide: warns where the sidecar's secrets keep the service account's out", "[core]") {
  Template tpl = envoy();
  const char* const none = R"({"apiVersion":"apps/v1","kind":"Deployment","spec":{"template":{
      "metadata":{"annotations":{"initializer.kubernetes.io/envoy":"true"}},
      "spec":{"containers":[]}}}})";
  const char* const listed = R"({"apiVersion":"apps/v1","kind":"Deployment","spec":{"template":{
      "metadata":{"annotations":{"initializer.kubernetes.io/envoy":"true"}},
      "spec":{"containers":[],"imagePullSecrets":[{"name":"own"}]}}}})";
  REQUIRE(decide_workload(none, tpl).decision.warnings.empty());
  tpl.image_pull_secrets.emplace_back(Json::parse(R"({"name":"regcred"})"));
  const Decision decision = decide_workload(none, tpl).decision;
  REQUIRE(decision.warnings.size() == 1);
  REQUIRE(decision.warnings.front().code == WarningCode::HidesServiceAccountSecrets);
  REQUIRE(decide_workload(listed, tpl).decision.warnings.empty());
}

TEST_CASE("inject: a pod in admission has its service account's secrets already", "[core]") {
  Template tpl = envoy();
  tpl.image_pull_secrets.emplace_back(Json::parse(R"({"name":"regcred"})"));
  REQUIRE(inject(pod_facts(pod(kAsked)).value(), nullptr, tpl, {}).warnings.empty());
}

TEST_CASE("pod state: trimming a pod keeps what the decision depends on", "[core]") {
  Json windows = pod(kAsked, R"({"containers":[{"name":"app"}],"os":{"name":"windows"},
                                 "nodeSelector":{"kubernetes.io/os":"windows"}})");
  trim_pod(windows);
  REQUIRE(pod_state(pod_facts(windows).value(), nullptr, envoy(), {}) == PodState::NotAsked);
}

TEST_CASE("render: a missing metadata, annotations, volumes is created", "[core]") {
  Policy policy;
  policy.inject_by_default = true;
  const Json bare = Json::parse(R"({"spec":{"containers":[{"name":"app"}],"volumes":null}})");
  const PodFacts facts = pod_facts(bare).value();
  const Decision decision = decide(bare, policy);
  const Json by_plan = patched_object(bare, decision.plan);
  const Json by_patch = bare.patch(Json::parse(json_patch(facts, decision.plan)));
  REQUIRE(base::same(by_plan, by_patch));
  REQUIRE(by_plan.at("spec").at("volumes").size() == 1);
}

TEST_CASE("render: the JSON patch escapes the keys it adds", "[core]") {
  const Json asked = pod(kAsked);
  const std::string patch = json_patch(pod_facts(asked).value(), decide(asked).plan);
  REQUIRE_THAT(patch,
               Catch::Contains("/metadata/annotations/initializer.kubernetes.io~1envoy-status"));
}

TEST_CASE("remove: gives the original back, created parents included", "[core]") {
  for (const char* spec :
       {R"({"containers":[{"name":"app"}]})", R"({"containers":[{"name":"app"}],"volumes":[]})",
        R"({"volumes":[{"name":"v","emptyDir":{}}],"containers":[]})"}) {
    const Json original = pod(kAsked, spec);
    const Policy policy;
    const Json patched = patched_object(original, decide(original).plan);
    const auto status = injection_status(patched, policy).value();
    REQUIRE(status.has_value());
    REQUIRE(without_injection(patched, *status, policy) == original);
  }
}

TEST_CASE("remove: an unreadable status annotation is an error", "[core]") {
  const Json broken = pod(R"({"annotations":{"initializer.kubernetes.io/envoy-status":"{oops"}})");
  REQUIRE_FALSE(injection_status(broken, {}).has_value());
  REQUIRE_FALSE(injection_status(pod("{}"), {}).value().has_value());
}

TEST_CASE("pod facts: a wrong type where it matters is an error that names the place", "[core]") {
  const auto problem = [](const char* text) {
    return pod_facts(Json::parse(text)).error().message;
  };
  REQUIRE(problem("[]") == "not an object");
  REQUIRE(problem(R"({"metadata":{}})") == "spec: missing");
  REQUIRE(problem(R"({"spec":{}})") == "spec.containers: missing");
  REQUIRE(problem(R"({"spec":{"containers":{}}})") == "spec.containers: not a list");
  REQUIRE(problem(R"({"spec":{"containers":[{},1]}})") == "spec.containers[1]: not an object");
  REQUIRE(problem(R"({"spec":{"containers":[]},"metadata":{"labels":{"a":1}}})") ==
          "metadata.labels[a]: not a string");
}

TEST_CASE("template: the hash does not depend on key order, and does on values", "[core]") {
  Template one = envoy();
  Template two = envoy();
  two.containers.front() = Piece(Json::parse(
      R"({"image":"envoy:1","ports":[{"protocol":"TCP","containerPort":80}],"name":"envoy"})"));
  REQUIRE(hash_of(one) == hash_of(two));
  REQUIRE(hash_of(one).size() == 7 + 16);
  two.labels = {{"a", "b"}};
  REQUIRE(hash_of(one) != hash_of(two));
}

}  // namespace
}  // namespace injector::core
