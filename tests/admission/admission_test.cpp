#include "admission/admission.h"

#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "base/base64.h"
#include "base/json_text.h"
#include "patch/json_patch.h"
#include "tests/support/files.h"

namespace injector::admission {
namespace {

using base::Json;

std::string fixture(const std::string& name) {
  return tests::read_file(tests::data_path("fixtures/reviews/" + name));
}

// With a volume, which the built-in one has not.
std::string tutorials_template() {
  return tests::read_file(tests::data_path("fixtures/envoy/configmap.yaml"));
}

class Bench {
 public:
  explicit Bench(core::Policy policy = {}, OwnerNotice tell_owner = {},
                 base::LogLevel level = base::LogLevel::Info)
      : templates(base::Logger::silent()),
        metrics(*registry),
        log(base::LogFormat::Json, level,
            [this](std::string_view line) { lines.emplace_back(line); }),
        admission({templates, std::move(policy), {}, std::move(tell_owner)}, metrics, log) {
    REQUIRE(templates.update(tutorials_template(), "configmap.yaml").has_value());
  }

  Json response(const std::string& body) const {
    const HttpReply reply = admission.answer(body);
    REQUIRE(reply.status == 200);
    return base::read_json(reply.body).value().at("response");
  }

  std::string scrape() const { return prometheus::TextSerializer().Serialize(registry->Collect()); }

  std::shared_ptr<prometheus::Registry> registry = std::make_shared<prometheus::Registry>();
  templates::TemplateStore templates;
  AdmissionMetrics metrics;
  std::vector<std::string> lines;
  base::Logger log;
  Admission admission;
};

TEST_CASE("admission: every recorded creation of an annotated Pod gets a patch that applies",
          "[webhook]") {
  const Bench bench;
  for (const char* name : {"v1.20-pod-create-annotated.json", "v1.20-pod-create-v1beta1.json",
                           "v1.36-pod-create-annotated.json", "v1.36-pod-create-dryrun.json"}) {
    INFO(name);
    const Json review = base::read_json(fixture(name)).value();
    const Json response = bench.response(fixture(name));
    CHECK(response.at("allowed") == true);
    CHECK(response.at("uid") == review.at("request").at("uid"));
    REQUIRE(response.contains("patch"));
    CHECK(response.at("patchType") == "JSONPatch");
    CHECK(response.at("auditAnnotations").at("reason") == "Injected");
    CHECK(response.at("auditAnnotations").at("template") ==
          bench.templates.current()->fingerprint());
    const auto patch = base::base64_decode(response.at("patch").get<std::string>()).value();
    const Json pod =
        patch::apply_json_patch(review.at("request").at("object"), base::read_json(patch).value())
            .value();
    CHECK(pod.at("spec").at("containers").back().at("name") == "envoy");
    CHECK(pod.at("spec").at("volumes").back().at("name") == "envoy-conf");
  }
}

TEST_CASE("admission: what is no creation of a Pod is allowed untouched, with its reason",
          "[webhook]") {
  Bench bench;
  const std::pair<const char*, const char*> cases[] = {
      {"v1.36-pod-update.json", "NotCreate"},
      {"v1.36-pod-ephemeralcontainers-update.json", "NotCreate"},
      {"v1.36-deployment-create.json", "NotAPod"},
  };
  for (const auto& [name, reason] : cases) {
    INFO(name);
    const Json response = bench.response(fixture(name));
    CHECK(response.at("allowed") == true);
    CHECK_FALSE(response.contains("patch"));
    CHECK(response.at("auditAnnotations").at("reason") == reason);
    CHECK(base::read_json(bench.lines.back()).value().at("reason") == reason);
  }
}

std::string pod_review(const std::string& pod) {
  return R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u",)"
         R"("operation":"CREATE","resource":{"group":"","version":"v1","resource":"pods"},)"
         R"("namespace":"shop","object":)" +
         pod + "}}";
}

TEST_CASE("admission: a Pod that asked for nothing is logged only for who debugs", "[webhook]") {
  const std::string review = pod_review(R"({"metadata":{"name":"p"},"spec":{"containers":[]}})");
  Bench quiet;
  static_cast<void>(quiet.response(review));
  CHECK(quiet.lines.empty());
  Bench curious({}, {}, base::LogLevel::Debug);
  static_cast<void>(curious.response(review));
  REQUIRE(curious.lines.size() == 1);
  CHECK_THAT(curious.lines.front(), Catch::Contains("NotRequested"));
}

TEST_CASE("admission: the log line says who, what, why and how long", "[webhook]") {
  Bench bench({}, {}, base::LogLevel::Debug);
  static_cast<void>(bench.response(
      pod_review(R"({"metadata":{"generateName":"web-","ownerReferences":[{"kind":"ReplicaSet",)"
                 R"("name":"web-5d4f","controller":true}]},"spec":{"containers":[]}})")));
  REQUIRE(bench.lines.size() == 1);
  const Json line = base::read_json(bench.lines.front()).value();
  CHECK(line.at("msg") == "admission");
  CHECK(line.at("namespace") == "shop");
  CHECK(line.at("name") == "web-");
  CHECK(line.at("owner") == "ReplicaSet/web-5d4f");
  CHECK(line.at("outcome") == "skip");
  CHECK(line.at("reason") == "NotRequested");
  CHECK(line.at("seconds").is_number());
}

TEST_CASE("admission: a refused Pod is denied with a message, and skipped if so configured",
          "[webhook]") {
  const std::string review = pod_review(
      R"({"metadata":{"name":"web","annotations":{"initializer.kubernetes.io/envoy":"true"}},)"
      R"("spec":{"containers":[],"volumes":[{"name":"envoy-conf","emptyDir":{}}]}})");
  const Json denied = Bench().response(review);
  CHECK(denied.at("allowed") == false);
  CHECK(denied.at("status").at("code") == 422);
  CHECK_THAT(denied.at("status").at("message").get<std::string>(),
             Catch::Contains("shop/web") && Catch::Contains("envoy-conf"));
  core::Policy policy;
  policy.on_conflict = core::OnConflict::Skip;
  CHECK(Bench(policy).response(review).at("allowed") == true);
}

TEST_CASE("admission: a typo is allowed with a warning", "[webhook]") {
  const Json response = Bench().response(
      pod_review(R"({"metadata":{"annotations":{"initializer.kubernetes.io/envoy":"ture"}},)"
                 R"("spec":{"containers":[]}})"));
  CHECK(response.at("allowed") == true);
  CHECK_THAT(response.at("warnings").at(0).get<std::string>(), Catch::Contains("ture"));
}

std::string owned_review(const std::string& value, const std::string& volumes, bool dry_run) {
  Json review =
      base::read_json(pod_review(R"({"metadata":{"generateName":"web-","ownerReferences":[)"
                                 R"({"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-5d4f",)"
                                 R"("uid":"r","controller":true}],"annotations":{}},)"
                                 R"("spec":{"containers":[],"volumes":)" +
                                 volumes + "}}"))
          .value();
  Json& request = review["request"];
  request["object"]["metadata"]["annotations"]["initializer.kubernetes.io/envoy"] = value;
  request["dryRun"] = dry_run;
  return base::write_json(review);
}

TEST_CASE("admission: the owner hears of a refused Pod and of a typo, and nothing in a dry run",
          "[webhook]") {
  std::vector<std::string> heard;
  const Bench bench({}, [&](const AdmissionRequest& request, const core::Decision& decision) {
    heard.push_back(to_string(request.pod->owner) + " " + std::string(to_string(decision.reason)));
    CHECK(request.pod->owner.uid == "r");
    CHECK(request.pod->owner.api_version == "apps/v1");
  });
  const std::string clash = R"([{"name":"envoy-conf","emptyDir":{}}])";
  for (const bool dry_run : {true, false}) {
    static_cast<void>(bench.response(owned_review("true", "[]", dry_run)));   // Injected.
    static_cast<void>(bench.response(owned_review("false", "[]", dry_run)));  // Opted out.
    static_cast<void>(bench.response(owned_review("true", clash, dry_run)));
    static_cast<void>(bench.response(owned_review("ture", "[]", dry_run)));
  }
  CHECK(heard == std::vector<std::string>{"ReplicaSet/web-5d4f VolumeConflict",
                                          "ReplicaSet/web-5d4f UnrecognizedValue"});
}

TEST_CASE("admission: a key that is almost right is in the log and reaches the owner",
          "[webhook]") {
  std::vector<std::string> heard;
  Bench bench({}, [&](const AdmissionRequest& /*request*/, const core::Decision& decision) {
    heard.push_back(core::joined(decision.warnings));
  });
  static_cast<void>(bench.response(
      pod_review(R"({"metadata":{"generateName":"web-","ownerReferences":[{"kind":"ReplicaSet",)"
                 R"("name":"web-5d4f","controller":true}],"annotations":)"
                 R"({"initializer.kubernetes.io/envy":"true"}},"spec":{"containers":[]}})")));
  REQUIRE(heard.size() == 1);
  CHECK_THAT(heard.front(), Catch::StartsWith("MisspeltKey: "));
  REQUIRE(bench.lines.size() == 1);
  const Json line = base::read_json(bench.lines.front()).value();
  CHECK(line.at("warnings") == heard.front());
}

TEST_CASE("admission: a job's Pod is injected, with the warning that it never completes",
          "[webhook]") {
  const Json response = Bench().response(pod_review(
      R"({"metadata":{"annotations":{"initializer.kubernetes.io/envoy":"true"},)"
      R"("ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"j","controller":true}]},)"
      R"("spec":{"containers":[]}})"));
  CHECK(response.contains("patch"));
  CHECK_THAT(response.at("warnings").at(0).get<std::string>(),
             Catch::StartsWith("NeverCompletes: "));
}

TEST_CASE("admission: a Windows Pod is allowed as it is", "[webhook]") {
  const Json response = Bench().response(
      pod_review(R"({"metadata":{"annotations":{"initializer.kubernetes.io/envoy":"true"}},)"
                 R"("spec":{"os":{"name":"windows"},"containers":[]}})"));
  CHECK(response.at("allowed") == true);
  CHECK_FALSE(response.contains("patch"));
  CHECK(response.at("auditAnnotations").at("reason") == "WindowsPod");
}

TEST_CASE("admission: a Pod that is none is left to the API server", "[webhook]") {
  const Json response = Bench().response(pod_review(R"({"spec":{"containers":7}})"));
  CHECK(response.at("allowed") == true);
  CHECK(response.at("auditAnnotations").at("reason") == "NotAPod");
}

TEST_CASE("admission: broken requests are 400 with what is wrong, and counted", "[webhook]") {
  const Bench bench;
  for (const char* body : {"", "{", "[]", "null", "{\"kind\":\"Pod\"}", "\xff\xfe"}) {
    const HttpReply reply = bench.admission.answer(body);
    CHECK(reply.status == 400);
    CHECK_FALSE(reply.body.empty());
  }
  CHECK_THAT(bench.scrape(), Catch::Contains("reason=\"BadRequest\"} 6"));
}

TEST_CASE("admission metrics: the histogram tells 0.1 ms from 1 s", "[webhook]") {
  const Bench bench;
  static_cast<void>(bench.response(fixture("v1.36-pod-create-annotated.json")));
  const std::string page = bench.scrape();
  CHECK_THAT(page, Catch::Contains("duration_seconds_bucket{le=\"0.0001\"}"));
  CHECK_THAT(page, Catch::Contains("duration_seconds_bucket{le=\"1\"} 1"));
  CHECK_THAT(page, !Catch::Contains("by_namespace"));
}

TEST_CASE("admission metrics: namespaces are counted if asked for, and only so many of them",
          "[webhook]") {
  prometheus::Registry registry;
  AdmissionMetrics metrics(registry, ByNamespace::Yes);
  for (std::size_t i = 0; i < NamespaceCounts::kMaxNamespaces + 7; ++i) {
    const std::string name = "ns-" + std::to_string(i);
    metrics.count({name, core::Outcome::Inject, core::Reason::Injected, 0.001});
  }
  metrics.count({"ns-0", core::Outcome::Inject, core::Reason::Injected, 0.001});
  const std::string page = prometheus::TextSerializer().Serialize(registry.Collect());
  CHECK_THAT(page, Catch::Contains("{namespace=\"ns-0\",outcome=\"inject\"} 2"));
  CHECK_THAT(page, Catch::Contains("{namespace=\"\",outcome=\"inject\"} 7"));
  CHECK_THAT(page, !Catch::Contains("\"ns-1000\""));
}

TEST_CASE("template metrics: a rejected template shows until a good one comes", "[webhook]") {
  templates::TemplateStore store(base::Logger::silent());
  const TemplateMetrics metrics(store);
  const auto rejected = [&] {
    return prometheus::TextSerializer()
               .Serialize(metrics.Collect())
               .find("\nenvoy_initializer_template_rejected 1") != std::string::npos;
  };
  REQUIRE(store.update(templates::default_template_text(), "a").has_value());
  CHECK_FALSE(rejected());
  CHECK_FALSE(store.update("containers: 1", "a").has_value());
  CHECK(rejected());
  REQUIRE(store.update(templates::default_template_text(), "a").has_value());
  CHECK_FALSE(rejected());
}

TEST_CASE("admission: without a template only a Pod that asks is answered 503", "[webhook]") {
  prometheus::Registry registry;
  AdmissionMetrics metrics(registry);
  const templates::TemplateStore empty(base::Logger::silent());
  const auto namespaces = [](const std::string& name) {
    core::MetaFacts facts;
    if (name == "asking") {
      facts.labels.emplace_back(core::Policy{}.key, "true");
    }
    return std::make_shared<const core::MetaFacts>(std::move(facts));
  };
  const Admission admission({empty, {}, namespaces}, metrics, base::Logger::silent());
  const auto of_namespace = [](std::string review, const std::string& name) {
    return review.replace(review.find("shop"), 4, name);
  };
  const std::string plain = pod_review(R"({"metadata":{"name":"p"},"spec":{"containers":[]}})");
  CHECK(admission.answer(fixture("v1.36-pod-create-annotated.json")).status == 503);
  CHECK(admission.answer(of_namespace(plain, "asking")).status == 503);

  for (const std::string& review :
       {plain, fixture("v1.36-pod-update.json"), fixture("v1.36-deployment-create.json"),
        pod_review(R"({"metadata":{"annotations":{"initializer.kubernetes.io/envoy":"false"}},)"
                   R"("spec":{"containers":[]}})"),
        pod_review(R"({"metadata":{"annotations":{"initializer.kubernetes.io/envoy":"ture"}},)"
                   R"("spec":{"containers":[]}})")}) {
    INFO(review);
    const HttpReply reply = admission.answer(review);
    REQUIRE(reply.status == 200);
    CHECK(base::read_json(reply.body).value().at("response").at("allowed") == true);
  }
}

TEST_CASE("admission: a Namespace is looked up only where the Pod says nothing", "[webhook]") {
  prometheus::Registry registry;
  AdmissionMetrics metrics(registry);
  templates::TemplateStore templates(base::Logger::silent());
  REQUIRE(templates.update(templates::default_template_text(), "built-in").has_value());
  int looks = 0;
  const Admission admission({templates,
                             {},
                             [&](const std::string&) {
                               ++looks;
                               return std::shared_ptr<const core::MetaFacts>();
                             }},
                            metrics, base::Logger::silent());
  for (const char* metadata :
       {R"("annotations":{"initializer.kubernetes.io/envoy":"true"})",
        R"("labels":{"initializer.kubernetes.io/envoy":"false"})",
        R"("annotations":{"initializer.kubernetes.io/envoy-status":"{}"})"}) {
    const std::string pod =
        std::string(R"({"metadata":{)") + metadata + R"(},"spec":{"containers":[]}})";
    CHECK(admission.answer(pod_review(pod)).status == 200);
  }
  CHECK(looks == 0);
  CHECK(admission.answer(pod_review(R"({"metadata":{},"spec":{"containers":[]}})")).status == 200);
  CHECK(looks == 1);
}

TEST_CASE("template store: bad content never replaces a good template", "[webhook]") {
  std::vector<std::string> lines;
  templates::TemplateStore store({base::LogFormat::Text, base::LogLevel::Info,
                                  [&](std::string_view line) { lines.emplace_back(line); }});
  CHECK_FALSE(store.ready().has_value());
  REQUIRE(store.update(templates::default_template_text(), "a").has_value());
  const auto good = store.current();
  CHECK_FALSE(store.update("containers: 1", "a").has_value());
  CHECK_FALSE(store.update("containers: 1", "a").has_value());
  CHECK(store.current() == good);
  CHECK(store.ready().has_value());
  CHECK(store.failure().has_value());
  CHECK(store.counts().failed == 2);
  CHECK(lines.size() == 2);  // Loaded, and the failure once.
  REQUIRE(store.update(templates::default_template_text(), "a").has_value());
  CHECK_FALSE(store.failure().has_value());
}

TEST_CASE("template store: what serves in place of bad content does not hide the failure",
          "[webhook]") {
  templates::TemplateStore store(base::Logger::silent());
  CHECK_FALSE(store.update("containers: 1", "new").has_value());
  store.serve(templates::default_template(), {.name = "kept", .remark = "old", .newest = false});
  CHECK(store.ready().has_value());
  CHECK(store.failure().has_value());
  CHECK(store.remark() == "old");
  REQUIRE(store.update(templates::default_template_text(), "new").has_value());
  CHECK_FALSE(store.failure().has_value());
  CHECK(store.remark().empty());
}

}  // namespace
}  // namespace injector::admission
