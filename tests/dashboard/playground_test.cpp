// The playground's answers: those of explain and inject.

#include "dashboard/playground.h"

#include <string>

#include <catch2/catch.hpp>

#include "base/json_text.h"
#include "template/parser.h"

namespace injector::tests {
namespace {

using base::Json;
using dashboard::decide_playground;
using dashboard::PlaygroundRequest;

constexpr const char* kPod = R"(# Mine.
apiVersion: v1
kind: Pod
metadata:
  name: web
  annotations:
    initializer.kubernetes.io/envoy: "true"
spec:
  containers:
    - name: app
      image: nginx
)";

constexpr const char* kQuietPod = R"(apiVersion: v1
kind: Pod
metadata: {name: quiet, namespace: shop}
spec: {containers: [{name: app, image: nginx}]}
)";

cli::DecisionContext built_in() {
  return {core::TemplateSet::view_of(templates::default_template()), {}, {}};
}

Json decide(const std::string& manifest) {
  PlaygroundRequest request;
  request.manifest = manifest;
  return decide_playground(request, built_in());
}

std::string text_at(const Json& object, const char* key) {
  return std::string(base::text_of(base::find(object, key)));
}

TEST_CASE("playground: says what is decided, why, and what changes", "[dashboard]") {
  const Json answer = decide(kPod);
  REQUIRE(answer.at("failures").empty());
  REQUIRE(answer.at("objects").size() == 1);
  const Json& pod = answer.at("objects").at(0);
  REQUIRE(text_at(pod, "object") == "pod/web");
  REQUIRE(text_at(pod, "decision") == "inject");
  REQUIRE(text_at(pod, "reason") == "Injected");
  REQUIRE(text_at(pod, "rule") == "pod annotation");
  REQUIRE(text_at(pod, "diff").find("+    - name: envoy\n") != std::string::npos);
  REQUIRE(base::read_json(text_at(pod.at("patches"), "strategic")));
  REQUIRE(base::read_json(text_at(pod.at("patches"), "jsonPatch")).value().is_array());
  REQUIRE(text_at(answer, "yaml").starts_with("# Mine.\n"));
  REQUIRE(text_at(answer, "yaml").find("name: envoy") != std::string::npos);
}

TEST_CASE("playground: an object that is left alone has no diff and no patch", "[dashboard]") {
  const Json answer = decide(kQuietPod);
  const Json& pod = answer.at("objects").at(0);
  REQUIRE(text_at(pod, "reason") == "NotRequested");
  REQUIRE_FALSE(pod.contains("diff"));
  REQUIRE(text_at(answer, "yaml") == kQuietPod);
}

TEST_CASE("playground: the Namespace given counts, one in the manifest counts more",
          "[dashboard]") {
  PlaygroundRequest request;
  request.manifest = kQuietPod;
  request.name_space.labels = {{"initializer.kubernetes.io/envoy", "enabled"}};
  const Json asked = decide_playground(request, built_in());
  REQUIRE(text_at(asked.at("objects").at(0), "rule") == "namespace label");
  request.manifest += "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n";
  const Json silent = decide_playground(request, built_in());
  REQUIRE(text_at(silent.at("objects").at(0), "reason") == "NotRequested");
  REQUIRE(text_at(silent.at("objects").at(1), "reason") == "NotAPod");
}

TEST_CASE("playground: what cannot be read does not hide the rest", "[dashboard]") {
  const Json answer = decide("a: [\n---\n" + std::string(kPod));
  REQUIRE(answer.at("failures").size() == 1);
  REQUIRE(answer.at("objects").size() == 1);
}

TEST_CASE("playground: a template of one's own is used, or its problems are named", "[dashboard]") {
  PlaygroundRequest request;
  request.manifest = kPod;
  request.template_text = "containers:\n  - name: logs\n    image: fluent-bit:4\n";
  const Json good = decide_playground(request, built_in());
  REQUIRE(text_at(good.at("objects").at(0), "diff").find("fluent-bit") != std::string::npos);
  request.template_text = "containers:\n  - name: logs\n    imag: fluent-bit:4\n";
  const Json bad = decide_playground(request, built_in());
  REQUIRE(bad.at("objects").empty());
  const Json& problem = bad.at("template").at("problems").at(0);
  REQUIRE(problem.at("line").get<int>() >= 2);
  REQUIRE(text_at(problem, "path").find("containers[0]") == 0);
}

TEST_CASE("playground: native sidecars are no good before 1.28", "[dashboard]") {
  PlaygroundRequest request;
  request.template_text =
      "initContainers:\n  - name: logs\n    image: a:1\n    restartPolicy: Always\n";
  request.kubernetes_version = "1.27";
  const auto findings = [&] {
    return decide_playground(request, built_in()).at("template").at("findings").size();
  };
  REQUIRE(findings() == 1);
  request.kubernetes_version = "v1.28.3";
  REQUIRE(findings() == 0);
  request.kubernetes_version = "new";
  REQUIRE(findings() == 1);
}

TEST_CASE("playground: items of a List are decided one by one", "[dashboard]") {
  const std::string item =
      "- metadata:\n    name: a\n    annotations: {initializer.kubernetes.io/envoy: \"true\"}\n"
      "  spec: {containers: [{name: app, image: nginx}]}\n";
  const Json answer = decide("apiVersion: v1\nkind: PodList\nitems:\n" + item);
  REQUIRE(text_at(answer.at("objects").at(0), "object") == "pod/a");
  REQUIRE(text_at(answer.at("objects").at(0), "diff").find("name: envoy") != std::string::npos);
  REQUIRE(text_at(answer, "yaml").find("name: envoy") != std::string::npos);
  REQUIRE(text_at(answer, "yaml").find("kind: Pod\n") == std::string::npos);
}

TEST_CASE("playground: hostile input gives an answer", "[dashboard]") {
  for (const std::string& text :
       {std::string(), std::string("\0\xff", 2), std::string("---\n---\n"), std::string("[]"),
        std::string(2000, '['), std::string("kind: Pod\nspec: 3\n"),
        std::string("kind: List\nitems: [1, null, {}]\n"), std::string("&a [*a]")}) {
    const Json answer = decide(text);
    REQUIRE(answer.at("objects").is_array());
    REQUIRE_FALSE(base::write_json(answer).empty());
  }
}

TEST_CASE("playground: a request of the wrong shape is refused", "[dashboard]") {
  const auto reads = [](const char* text) {
    return dashboard::read_playground_request(base::read_json(text).value()).has_value();
  };
  REQUIRE(reads("{}"));
  REQUIRE(reads(R"({"manifest":"a: b","namespace":{"labels":{"a":"b"}},"template":null})"));
  REQUIRE(reads(R"({"namespace":3})"));
  REQUIRE_FALSE(reads("[]"));
  REQUIRE_FALSE(reads(R"({"manifest":3})"));
  const Json large(
      {{"manifest", std::string(dashboard::kMaxPlaygroundText + 1, 'x')}, {"template", ""}});
  REQUIRE_FALSE(dashboard::read_playground_request(large));
}

}  // namespace
}  // namespace injector::tests
