// The rules of the API server. That it judges the same templates alike is shown in
// tests/e2e/lint_test.cpp.

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "base/json_text.h"
#include "template/parser.h"
#include "template/text_format.h"
#include "tests/support/lint_cases.h"

namespace injector::templates {
namespace {

using Lines = std::vector<std::string>;

Lines texts(const std::vector<TemplateProblem>& found) {
  Lines lines;
  for (const TemplateProblem& problem : found) {
    lines.push_back(problem.text("t"));
  }
  return lines;
}

Lines problems(std::string_view text) {
  return texts(check_template_file(text).problems);
}

Lines warnings(std::string_view text) {
  const TemplateReport report = check_template_file(text);
  CHECK(report.problems.empty());
  return texts(report.warnings);
}

// The rest of a container in braces, on one line.
std::string container(const std::string& fields) {
  return "containers: [{name: a, image: b, " + fields + "}]\n";
}

TEST_CASE("template: what the API server refuses is refused", "[codec]") {
  for (const tests::LintCase& faulty : tests::lint_cases("faulty.yaml")) {
    INFO(faulty.text);
    CHECK_FALSE(problems(base::write_json(faulty.value)).empty());
  }
}

TEST_CASE("template: what the API server takes passes", "[codec]") {
  for (const tests::LintCase& good : tests::lint_cases("good.yaml")) {
    INFO(good.text);
    CHECK(problems(base::write_json(good.value)) == Lines{});
  }
}

TEST_CASE("template: sidecars as they are in use pass", "[codec]") {
  for (const char* name : {"mesh-proxy", "light-proxy", "native-proxy"}) {
    INFO(name);
    const std::string file = std::string("fixtures/lint/sidecars/") + name + ".yaml";
    const TemplateReport report = check_template_file(tests::read_file(tests::data_path(file)));
    CHECK(texts(report.problems) == Lines{});
    CHECK(texts(report.warnings) == Lines{});
  }
}

TEST_CASE("template: a wrong word of an enumeration names the right one", "[codec]") {
  CHECK(problems(container("imagePullPolicy: always")) ==
        Lines{"t:1: containers[0].imagePullPolicy: is \"always\", not Always, IfNotPresent or "
              "Never, did you mean Always?"});
  CHECK(problems(container("ports: [{containerPort: 80, protocol: tcp}]")) ==
        Lines{"t:1: containers[0].ports[0].protocol: is \"tcp\", not TCP, UDP or SCTP, did you "
              "mean TCP?"});
  CHECK(problems(container("terminationMessagePolicy: Nowhere")) ==
        Lines{"t:1: containers[0].terminationMessagePolicy: is \"Nowhere\", not File or "
              "FallbackToLogsOnError"});
  CHECK(problems(container("lifecycle: {stopSignal: SIGTREM}")) ==
        Lines{"t:1: containers[0].lifecycle.stopSignal: is \"SIGTREM\", not a known value, did you "
              "mean SIGTERM?"});
}

TEST_CASE("template: each rule says what is wrong and what to do", "[codec]") {
  CHECK(problems(container("livenessProbe: {}")) ==
        Lines{"t:1: containers[0].livenessProbe: needs one of exec, httpGet, tcpSocket or grpc"});
  CHECK(problems(container("resources: {limits: {cpu: 100m}, requests: {cpu: 0.2}}")) ==
        Lines{"t:1: containers[0].resources.requests.cpu: is 0.2, above the limit of 100m"});
  CHECK(problems(container("env: [{name: A=B}]")) ==
        Lines{"t:1: containers[0].env[0].name: \"A=B\" is not the name of a variable: use letters, "
              "digits and _"});
  CHECK(problems(container("ports: [{containerPort: 80, name: a-name-too-long-}]")) ==
        Lines{"t:1: containers[0].ports[0].name: \"a-name-too-long-\" is not a port name: use up "
              "to 15 lower-case letters, digits and single dashes, at least one letter among "
              "them"});
  CHECK(problems(container("securityContext: {privileged: true, allowPrivilegeEscalation: "
                           "false}")) ==
        Lines{"t:1: containers[0].securityContext.allowPrivilegeEscalation: cannot be false while "
              "privileged is true"});
  CHECK(problems(container("readinessProbe: {httpGet: {port: '8080'}}")) ==
        Lines{"t:1: containers[0].readinessProbe.httpGet.port: \"8080\" is the name of a port, "
              "which needs a letter: write the number without quotes"});
}

TEST_CASE("template: a long value is cut in the message", "[codec]") {
  const Lines found = problems(container("imagePullPolicy: " + std::string(5000, 'x')));
  REQUIRE(found.size() == 1);
  CHECK(found.front().size() < 300);
}

TEST_CASE("template: what works on some servers only is a warning", "[codec]") {
  CHECK(warnings(container("env: [{name: 1A}]")) ==
        Lines{"t:1: containers[0].env[0].name: \"1A\" is refused by Kubernetes before 1.32"});
  CHECK(warnings(container("restartPolicy: Always")) ==
        Lines{"t:1: containers[0].restartPolicy: needs Kubernetes 1.35 in containers: for a native "
              "sidecar write it in initContainers"});
  CHECK(warnings("initContainers: [{name: a, image: b, restartPolicy: Always}]\n") == Lines{});
}

TEST_CASE("template: what is hardly meant is a warning", "[codec]") {
  CHECK(warnings(container("env: [{name: A, value: x}, {name: A, value: z}]")) ==
        Lines{"t:1: containers[0].env[1].name: \"A\" is there twice: the last one wins"});
  CHECK(warnings(container("env: [{name: A, value: x}, {name: A, value: $(A):y}]")) == Lines{});
  CHECK(warnings(container("securityContext: {runAsNonRoot: true, runAsUser: 0}")) ==
        Lines{"t:1: containers[0].securityContext.runAsUser: is 0 while runAsNonRoot is true: the "
              "container will not start"});
  CHECK(warnings(container("ports: [{containerPort: 80}, {containerPort: 80}]")).size() == 1);
  CHECK(warnings("containers: [{name: a, image: b}]\nimagePullSecrets: [{name: }]\n") ==
        Lines{"t:2: imagePullSecrets[0]: has no name: it has no effect"});
}

TEST_CASE("template: a field without a value is as good as none", "[codec]") {
  const core::Template with = parse_template(R"(containers:
- name: a
  image: b
  args: [x]
  command:
  env:
  ports:
  resources:
  securityContext:
  livenessProbe:
    exec:
    tcpSocket: {port: 80}
initContainers:
volumes:
- name: v
  emptyDir:
- name: w
  configMap: {name: c, items: }
imagePullSecrets:
labels:
annotations:
)",
                                             "with")
                                  .value();
  const core::Template without = parse_template(R"(containers:
- {name: a, image: b, args: [x], livenessProbe: {tcpSocket: {port: 80}}}
volumes: [{name: v}, {name: w, configMap: {name: c}}]
)",
                                                "without")
                                     .value();
  CHECK(with.hash == without.hash);
}

TEST_CASE("template: an empty element of a list is what Kubernetes makes of it", "[codec]") {
  CHECK(parse_template("containers: [{name: a, image: b, args: [x, ]}]\n", "t").has_value());
  CHECK(parse_template("containers: [{name: a, image: b, args: [x, null]}]\n", "t")
            .value()
            .containers.front()
            .value.at("args")
            .back() == "");
  CHECK(problems("containers:\n-\n") ==
        Lines{"t:2: containers[0].name: missing", "t:2: containers[0].image: missing"});
}

TEST_CASE("template: pull secrets that do nothing are left out", "[codec]") {
  const core::Template tpl = parse_template(
                                 "containers: [{name: a, image: b}]\n"
                                 "imagePullSecrets: [{name: x}, {name: x}, {name: ''}, {}]\n",
                                 "t")
                                 .value();
  REQUIRE(tpl.image_pull_secrets.size() == 1);
  CHECK(tpl.image_pull_secrets.front().name == "x");
}

TEST_CASE("template: its own fields must be known, whatever is allowed", "[codec]") {
  TemplateOptions options;
  options.allow_unknown_fields = true;
  const auto found = [&](const char* text) {
    return texts(check_template_file(text, options).problems);
  };
  CHECK(found("containers: [{name: a, image: b, newField: 1}]\n") == Lines{});
  CHECK(found("containers: [{name: a, image: b}]\nvolumes: [{name: v, newSource: {}}]\n") ==
        Lines{});
  CHECK(found("containers: [{name: a, image: b}]\nserviceAccountName: x\n") ==
        Lines{"t:2: serviceAccountName: unknown field, and this version would ignore it: only "
              "fields inside containers, initContainers, volumes, imagePullSecrets, labels and "
              "annotations may be unknown"});
}

TEST_CASE("text format: paths", "[codec]") {
  CHECK(objection(Format::RelativePath, "a/..b/c").empty());
  CHECK_FALSE(objection(Format::RelativePath, "a/..").empty());
  CHECK_FALSE(objection(Format::FilePath, "..b").empty());
  CHECK(objection(Format::NoBacksteps, "/a/b").empty());
}

}  // namespace
}  // namespace injector::templates
