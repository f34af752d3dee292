#include "cli/explain_command.h"

#include <filesystem>
#include <sstream>
#include <string>

#include <catch2/catch.hpp>

#include "base/json_text.h"
#include "template/parser.h"
#include "tests/support/temp_dir.h"

namespace injector::cli {
namespace {

using base::Json;

constexpr const char* kPod = R"(apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
spec: {containers: [{name: app, image: app}]}
)";
constexpr const char* kNamespace = R"(apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {initializer.kubernetes.io/envoy: "true"}}
)";

struct Outcome {
  int code = 0;
  std::string out;
  std::string err;

  [[nodiscard]] Json json() const { return base::read_json(out).value(); }

  [[nodiscard]] std::string reason(std::size_t index) const {
    return std::string(base::text_of(base::find(json().at("objects").at(index), "reason")));
  }
};

DecisionContext context() {
  return {templates::parse_template("containers: [{name: envoy, image: e}]", "t").value(), {}, {}};
}

Outcome explain(ExplainOptions options, DecisionContext decision = context(),
                const std::string& input = "") {
  std::istringstream in(input);
  std::ostringstream out;
  std::ostringstream err;
  options.template_source = "file t (sha256:1)";
  const int code = run_explain(options, std::move(decision), {in, out, err});
  return {code, out.str(), err.str()};
}

ExplainOptions json_of(std::vector<std::string> files) {
  ExplainOptions options;
  options.files = std::move(files);
  options.view.output = {ListFormat::Json};
  return options;
}

TEST_CASE("explain: a Namespace in the same input counts, before or after its Pods", "[cli]") {
  for (const bool first : {true, false}) {
    const std::string text =
        first ? std::string(kNamespace) + "---\n" + kPod : std::string(kPod) + "---\n" + kNamespace;
    const Outcome outcome = explain(json_of({"-"}), context(), text);
    CHECK(outcome.code == kDone);
    CHECK(outcome.reason(first ? 1 : 0) == "Injected");
    CHECK(outcome.json().at("objects").at(first ? 1 : 0).at("rule") == "namespace label");
  }
}

TEST_CASE("explain: kubectl's formats, without headers and sorted", "[cli]") {
  const std::string both = std::string(kPod) + "---\n" + kNamespace;
  const auto print = [&](const std::string& output, const std::string& sort_by = "") {
    ExplainOptions options;
    options.files = {"-"};
    options.view = {parse_output(output).value(), false, sort_by};
    return explain(options, context(), both).out;
  };
  CHECK(print("name") == "pod/web\nnamespace/shop\n");
  CHECK(print("name", ".object") == "namespace/shop\npod/web\n");
  CHECK(print("jsonpath={.objects[*].reason}") == "Injected NotAPod");
  CHECK_THAT(print("table"), Catch::StartsWith("pod/web "));
  CHECK_THAT(print("wide"),
             Catch::StartsWith("shop       pod/web ") && Catch::Contains("  namespace label  "));
  CHECK_THAT(print("yaml"), Catch::StartsWith("template: "));
  ExplainOptions bad = json_of({"-"});
  bad.view.sort_by = "{..x}";
  CHECK(explain(bad, context(), both).code == kUsage);
}

TEST_CASE("explain: a Namespace in another file counts too", "[cli]") {
  const tests::TempDir dir;
  const std::string pod = dir.write("a.yaml", kPod);
  const std::string name_space = dir.write("b.yaml", kNamespace);
  CHECK(explain(json_of({pod, name_space})).reason(0) == "Injected");
  CHECK(explain(json_of({pod})).reason(0) == "NotRequested");
}

TEST_CASE("explain: a given Namespace goes before the input's, that before the cluster's",
          "[cli]") {
  const core::MetaFacts no{{{"initializer.kubernetes.io/envoy", "false"}}, {}};
  DecisionContext given = context();
  given.namespaces["shop"] = no;
  const std::string both = std::string(kNamespace) + "---\n" + kPod;
  CHECK(explain(json_of({"-"}), given, both).reason(1) == "OptedOut");
  ExplainOptions live = json_of({"-"});
  live.look_up = [&](const std::string& name) -> base::Result<core::MetaFacts> {
    CHECK(name == "shop");
    return no;
  };
  CHECK(explain(live, context(), both).reason(1) == "Injected");
  CHECK(explain(live, context(), kPod).reason(0) == "OptedOut");
}

TEST_CASE("explain: a Namespace that may not be read is noted, one that is not there is not",
          "[cli]") {
  ExplainOptions live = json_of({"-"});
  live.look_up = [](const std::string&) -> base::Result<core::MetaFacts> {
    return base::Error{base::ErrorCode::Forbidden, "no right to it"};
  };
  const Outcome forbidden = explain(live, context(), kPod);
  CHECK(forbidden.code == kDone);
  CHECK(forbidden.err == "note: what Namespace shop says is not known: no right to it\n");
  live.look_up = [](const std::string&) -> base::Result<core::MetaFacts> {
    return base::Error{base::ErrorCode::NotFound, "not there"};
  };
  CHECK(explain(live, context(), kPod).err.empty());
}

TEST_CASE("explain: one bad object does not hide the others", "[cli]") {
  std::string text;
  for (int i = 0; i < 30; ++i) {
    text +=
        i == 7 ? "kind: Pod\napiVersion: v1\nmetadata: {name: bad}\nspec: {containers: 5}\n" : kPod;
    text += "---\n";
  }
  const Outcome outcome = explain(json_of({"-"}), context(), text);
  CHECK(outcome.code == kFailed);
  CHECK(outcome.json().at("objects").size() == 29);
  REQUIRE(outcome.json().at("failures").size() == 1);
  CHECK(outcome.err.find("error: pod/bad: spec.containers") == 0);
}

TEST_CASE("explain: a document or file that cannot be read does not hide the others", "[cli]") {
  const tests::TempDir dir;
  const std::string broken = dir.write("a.yaml", std::string(kPod) + "---\na: [1\n---\n" + kPod);
  const std::string good = dir.write("b.yaml", kPod);
  const Outcome outcome = explain(json_of({broken, dir.file("none.yaml"), good}));
  CHECK(outcome.code == kFailed);
  CHECK(outcome.json().at("objects").size() == 3);
  CHECK(outcome.json().at("failures").size() == 2);
  CHECK(outcome.err.find("a.yaml: line 6") != std::string::npos);
  CHECK(outcome.err.find("none.yaml") != std::string::npos);
}

TEST_CASE("explain: a directory stands for the files below it where that is asked for", "[cli]") {
  const tests::TempDir dir;
  dir.write("a.yaml", kPod);
  std::filesystem::create_directory(dir.file("below"));
  dir.write("below/b.yaml", kPod);
  ExplainOptions options = json_of({dir.file("")});
  CHECK(explain(options).json().at("objects").size() == 1);
  options.recursion = Recursion::Yes;
  CHECK(explain(options).json().at("objects").size() == 2);
}

TEST_CASE("explain: the first line says which template it is about", "[cli]") {
  ExplainOptions options;
  options.files = {"-"};
  const Outcome table = explain(options, context(), kPod);
  CHECK(table.out.rfind("template: file t (sha256:1)\nKIND/NAME ", 0) == 0);
  CHECK(explain(json_of({"-"}), context(), kPod).json().at("template") == "file t (sha256:1)");
}

TEST_CASE("explain: the items of a list and JSON are objects as well", "[cli]") {
  const std::string list =
      R"({"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"a"},
      "spec":{"containers":[{"name":"app"}]}}]})";
  const Outcome outcome = explain(json_of({"-"}), context(), list);
  CHECK(outcome.json().at("objects").at(0).at("object") == "pod/a");
  CHECK(outcome.reason(0) == "NotRequested");
}

}  // namespace
}  // namespace injector::cli
