#include "template/parser.h"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "template/quantity.h"
#include "tests/support/files.h"

namespace injector::templates {
namespace {

std::vector<std::string> problems(std::string_view text, const TemplateOptions& options = {}) {
  std::vector<std::string> lines;
  for (const TemplateProblem& problem : check_template_file(text, options).problems) {
    lines.push_back(problem.text("t"));
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST_CASE("template: the tutorial's ConfigMap is a template", "[codec]") {
  const std::string file = tests::read_file(tests::data_path("fixtures/envoy/configmap.yaml"));
  const core::Template tpl = parse_template(file, "configmap.yaml").value();
  REQUIRE(tpl.containers.size() == 1);
  REQUIRE(tpl.containers.front().name == "envoy");
  REQUIRE(tpl.volumes.front().name == "envoy-conf");
}

TEST_CASE("template: a typo names the field that was meant", "[codec]") {
  REQUIRE(
      problems(
          "containers:\n- name: a\n  image: b\n  volumeMount: []\n  imagepullPolicy: Always\n") ==
      Lines{"t:4: containers[0].volumeMount: unknown field, did you mean volumeMounts?",
            "t:5: containers[0].imagepullPolicy: unknown field, did you mean imagePullPolicy?"});
  REQUIRE(problems("container: []\n") ==
          Lines{"t:1: container: unknown field, did you mean containers?",
                "t:1: has no container: give at least one in containers or initContainers"});
}

TEST_CASE("template: all problems are reported, by line", "[codec]") {
  REQUIRE(problems(R"(containers:
- name: Envoy
  ports:
  - containerPort: 70000
    name: 5
  resources:
    limits: {cpu: 1 core, memory: 64Mi}
- name: b
  image: c
- name: b
  image: c
  volumeMounts:
  - {name: nowhere, mountPath: /a}
  - {name: v, mountPath: /a}
volumes:
- name: v
  emptyDir: {}
  hostPath: {path: /}
- emptyDir: {}
)") == Lines{"t:2: containers[0].name: \"Envoy\" is not a name: use up to 63 lower-case letters, "
             "digits and dashes",
             "t:2: containers[0].image: missing",
             "t:4: containers[0].ports[0].containerPort: is 70000, not a port from 1 to 65535",
             "t:5: containers[0].ports[0].name: is 5, not a string (put it in quotes)",
             "t:7: containers[0].resources.limits.cpu: is \"1 core\", not a quantity such as 100m "
             "or 64Mi",
             "t:10: containers[2].name: \"b\" is there twice",
             "t:13: containers[2].volumeMounts[0].name: no volume \"nowhere\" in the template's "
             "volumes",
             "t:14: containers[2].volumeMounts[1].mountPath: \"/a\" is mounted twice",
             "t:16: volumes[0]: has hostPath and emptyDir: only one of them is allowed",
             "t:19: volumes[1].name: missing"});
}

TEST_CASE("template: lines inside a ConfigMap are lines of the file", "[codec]") {
  REQUIRE(
      problems("kind: ConfigMap\ndata:\n  other: x\n  config: |\n    containers:\n    - name: a\n"
               "      imag: b\n") ==
      Lines{"t:6: containers[0].image: missing",
            "t:7: containers[0].imag: unknown field, did you mean image?",
            "t:3: data.other: is string, not a mapping"});
}

TEST_CASE("template: a ConfigMap without a usable config says so", "[codec]") {
  REQUIRE(problems("kind: ConfigMap\ndata: {}\n") ==
          Lines{"t: data.config: missing: the ConfigMap has no key config"});
  REQUIRE(problems("kind: ConfigMap\ndata:\n  config: ''\n") ==
          Lines{"t:3: data.config: is empty: give at least one container"});
  REQUIRE(problems("kind: ConfigMap\ndata:\n  config: hello\n") ==
          Lines{"t:3: data.config: is string, not a mapping"});
  REQUIRE(problems("kind: ConfigMap\ndata:\n  config: {}\n") ==
          Lines{"t:3: data.config: is a mapping, not text: write config: |"});
}

TEST_CASE("template: the ConfigMap is found among other documents", "[codec]") {
  REQUIRE(
      problems("kind: Namespace\n---\nkind: ConfigMap\ndata:\n  config: |\n    containers: 1\n") ==
      Lines{"t:6: containers: is number, not a list",
            "t:6: has no container: give at least one in containers or initContainers"});
}

TEST_CASE("template: unreadable, empty and wrong documents are problems", "[codec]") {
  REQUIRE(problems("").size() == 1);
  REQUIRE(problems("- a\n") == Lines{"t:1: is a list, not a mapping"});
  REQUIRE(problems("a: [\n").size() == 1);
  REQUIRE(problems("containers:\n- 1\n").size() == 2);
  REQUIRE_FALSE(parse_template("a: [", "f.yaml").has_value());
}

TEST_CASE("template: newer fields pass if allowed, slips of the case do not", "[codec]") {
  const char* const text =
      "containers:\n- {name: a, image: b, brandNewField: 1, ImagePullPolicy: x}\n";
  TemplateOptions options;
  REQUIRE(problems(text, options).size() == 2);
  options.allow_unknown_fields = true;
  REQUIRE(
      problems(text, options) ==
      Lines{"t:2: containers[0].ImagePullPolicy: unknown field, did you mean imagePullPolicy?"});
}

TEST_CASE("template: labels and annotations must be such that a Pod can have them", "[codec]") {
  REQUIRE(
      problems("containers: [{name: a, image: b}]\nlabels: {a b: c, ok: 'not ok', num: 1}\n"
               "annotations: {ok: 'any text', -x: z}\n") ==
      Lines{"t:2: labels.num: is 1, not a string (put it in quotes)",
            "t:2: labels.a b: is not a key: use [prefix/]name of letters, digits, -, _ and .",
            "t:2: labels.ok: \"not ok\" is not a label value: use up to 63 letters, digits, -, _ "
            "and .",
            "t:3: annotations.-x: is not a key: use [prefix/]name of letters, digits, -, _ and ."});
}

TEST_CASE("template: an init container alone is enough", "[codec]") {
  REQUIRE(problems("initContainers: [{name: a, image: b, restartPolicy: Always}]\n").empty());
}

TEST_CASE("template: a duplicate key is a warning with its line", "[codec]") {
  const TemplateReport report =
      check_template_file("containers: [{name: a, image: b}]\nlabels: {a: b}\nlabels: {a: c}\n");
  REQUIRE(report.value.has_value());
  REQUIRE(report.warnings.size() == 1);
  REQUIRE(report.warnings.front().line == 3);
}

TEST_CASE("quantity: what Kubernetes takes and what it does not", "[codec]") {
  for (const char* good :
       {"1", "100m", "0.5", ".5", "5.", "64Mi", "1e3", "1E-2", "-1", "+2Gi", "3k", "1E"}) {
    INFO(good);
    REQUIRE(is_quantity(base::Json(good)));
  }
  for (const char* bad : {"", "m", "1 core", "64mb", "1KI", "1e", "0x10", "1.2.3", "Mi", "1Mii"}) {
    INFO(bad);
    REQUIRE_FALSE(is_quantity(base::Json(bad)));
  }
  REQUIRE(is_quantity(base::Json(2)));
  REQUIRE_FALSE(is_quantity(base::Json(true)));
}

}  // namespace
}  // namespace injector::templates
