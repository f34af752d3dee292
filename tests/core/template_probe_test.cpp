#include "core/template_probe.h"

#include <catch2/catch.hpp>

#include "core/native_sidecars.h"
#include "core/pod_facts.h"

namespace injector::core {
namespace {

using base::Json;

Template sidecar() {
  Template tpl;
  tpl.containers.emplace_back(Json::parse(R"({"name":"app","image":"envoy:1"})"));
  tpl.init_containers.emplace_back(Json::parse(R"({"name":"setup","image":"busybox"})"));
  tpl.volumes.emplace_back(Json::parse(R"({"name":"conf","emptyDir":{}})"));
  tpl.image_pull_secrets.emplace_back(Json::parse(R"({"name":"pull"})"));
  tpl.labels = {{"sidecar", "envoy"}};
  tpl.annotations = {{"a/b", "c"}};
  return tpl;
}

ProbeVerdict judged(int code, const char* message) {
  return judge(code, Json::object({{"kind", "Status"}, {"message", message}}));
}

TEST_CASE("probe pod: has all that the template adds, behind a container of its own", "[core]") {
  const Json pod = probe_pod(sidecar(), "team");
  REQUIRE(pod.at("/metadata/namespace"_json_pointer) == "team");
  REQUIRE(pod.at("/metadata/labels/sidecar"_json_pointer) == "envoy");
  REQUIRE(pod.at("/metadata/annotations/a~1b"_json_pointer) == "c");
  const Json& spec = pod.at("spec");
  REQUIRE(spec.at("containers").size() == 2);
  REQUIRE(spec.at("/containers/1/name"_json_pointer) == "app");
  REQUIRE(spec.at("/containers/0/name"_json_pointer) != "app");
  REQUIRE(spec.at("/initContainers/0/name"_json_pointer) == "setup");
  REQUIRE(spec.at("/volumes/0/name"_json_pointer) == "conf");
  REQUIRE(spec.at("/imagePullSecrets/0/name"_json_pointer) == "pull");
}

TEST_CASE("probe pod: lists that the template does not have are not there", "[core]") {
  Template tpl;
  tpl.init_containers.emplace_back(Json::parse(R"({"name":"setup","image":"busybox"})"));
  const Json spec = probe_pod(tpl, "default").at("spec");
  REQUIRE(spec.at("containers").size() == 1);
  REQUIRE_FALSE(spec.contains("volumes"));
  REQUIRE_FALSE(spec.contains("imagePullSecrets"));
}

TEST_CASE("probe pod: opts out, even where the template's annotations ask", "[core]") {
  Template tpl = sidecar();
  Policy policy;
  policy.key = "example.org/mesh";
  tpl.annotations = {{policy.key, "true"}};
  const Json pod = probe_pod(tpl, "default", policy);
  REQUIRE(pod.at("metadata").at("annotations").at(policy.key) == "false");
}

TEST_CASE("probe: a Pod in the answer is acceptance", "[core]") {
  const ProbeVerdict verdict = judge(201, Json::object({{"kind", "Pod"}}));
  REQUIRE(verdict.outcome == ProbeOutcome::Accepted);
  REQUIRE(verdict.message.empty());
}

TEST_CASE("probe: a refusal speaks of the template's places", "[core]") {
  const Json status = Json::parse(R"({"kind":"Status","code":422,"reason":"Invalid",
    "message":"Pod \"p\" is invalid: [spec.containers[1].imagePullPolicy: Unsupported value, spec.volumes[0].name: Required value]",
    "details":{"causes":[
      {"field":"spec.containers[1].imagePullPolicy","message":"Unsupported value: \"always\""},
      {"field":"spec.volumes[0].name","message":"Required value"}]}})");
  const ProbeVerdict verdict = judge(422, status);
  REQUIRE(verdict.outcome == ProbeOutcome::Refused);
  REQUIRE(verdict.message ==
          "Pod \"p\" is invalid: [containers[0].imagePullPolicy: Unsupported value, "
          "volumes[0].name: Required value]");
  REQUIRE(verdict.problems.size() == 2);
  REQUIRE(verdict.problems.at(0).path == "containers[0].imagePullPolicy");
  REQUIRE(verdict.problems.at(0).message == "Unsupported value: \"always\"");
  REQUIRE(verdict.problems.at(1).path == "volumes[0].name");
}

TEST_CASE("probe: what the server cannot decode is refused", "[core]") {
  const ProbeVerdict verdict = judged(
      400,
      "Pod in version \"v1\" cannot be handled as a Pod: strict decoding error: unknown field "
      "\"spec.containers[1].imagePulPolicy\"");
  REQUIRE(verdict.outcome == ProbeOutcome::Refused);
  REQUIRE(verdict.problems.size() == 1);
  REQUIRE(verdict.message.find("\"containers[0].imagePulPolicy\"") != std::string::npos);
}

TEST_CASE("probe: what is refused after validation was valid", "[core]") {
  for (const char* late :
       {"pods \"p\" is forbidden: violates PodSecurity \"restricted:latest\": privileged",
        "pods \"p\" is forbidden: exceeded quota: q, requested: pods=1",
        "pods \"p\" is forbidden: failed quota: q: must specify limits.cpu",
        "pods \"p\" is forbidden: maximum memory usage per Container is 1Gi, but limit is 2Gi"}) {
    INFO(late);
    const ProbeVerdict verdict = judged(403, late);
    REQUIRE(verdict.outcome == ProbeOutcome::Accepted);
    REQUIRE(verdict.message == late);
  }
  REQUIRE(judged(422, "pods \"p\" is forbidden: ValidatingAdmissionPolicy 'x' denied request: no")
              .outcome == ProbeOutcome::Accepted);
}

TEST_CASE("probe: what is refused before validation says nothing", "[core]") {
  for (const auto& [code, message] : std::vector<std::pair<int, const char*>>{
           {403, "pods is forbidden: User \"u\" cannot create resource \"pods\""},
           {403, "pods \"p\" is forbidden: error looking up service account a/default"},
           {400, "admission webhook \"w\" does not support dry run"},
           {422, "admission webhook \"w\" denied the request: Pod is invalid: because"},
           {404, "namespaces \"x\" not found"},
           {500, "Internal error occurred: failed calling webhook \"w\""},
           {503, ""}}) {
    INFO(message);
    REQUIRE(judged(code, message).outcome == ProbeOutcome::Undecided);
    REQUIRE_FALSE(judged(code, message).message.empty());
  }
  REQUIRE(judge(502, Json("<html>")).outcome == ProbeOutcome::Undecided);
}

TEST_CASE("probe: paths are replaced wherever they stand, other text never", "[core]") {
  REQUIRE(template_paths("spec.containers[12].env[0]") == "containers[11].env[0]");
  REQUIRE(template_paths("metadata.labels: Invalid") == "labels: Invalid");
  REQUIRE(template_paths("spec.initContainers[0].name") == "initContainers[0].name");
  REQUIRE(template_paths("x.spec.containers[1], spec.containers, spec.containers[") ==
          "x.spec.containers[1], spec.containers, spec.containers[");
}

TEST_CASE("native sidecars: init containers that are always restarted", "[core]") {
  Template tpl = sidecar();
  REQUIRE_FALSE(needs_native_sidecars(tpl));
  tpl.init_containers.emplace_back(
      Json::parse(R"({"name":"proxy","image":"b","restartPolicy":"Always"})"));
  REQUIRE(needs_native_sidecars(tpl));
  REQUIRE(native_sidecars(tpl) == std::vector<std::string>{"proxy"});
}

}  // namespace
}  // namespace injector::core
