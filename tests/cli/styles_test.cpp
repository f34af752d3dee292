// Real manifests come in many styles. Whatever the style: injecting keeps the text, its meaning is
// what `-o json` says, and uninject gives the bytes back.

#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "base/json_text.h"
#include "cli/inject_command.h"
#include "template/parser.h"

namespace injector::cli {
namespace {

using base::Json;

struct Output {
  int code = 0;
  std::string out;
  std::string err;
};

constexpr const char* kTemplate =
    "containers:\n- name: proxy\n  image: proxy:1\n  args: [--a b, '{}']\n"
    "  volumeMounts:\n  - name: conf\n    mountPath: /conf\n"
    "volumes:\n- name: conf\n  configMap:\n    name: proxy\n- name: tmp\n  emptyDir: {}\n";

DecisionContext context() {
  DecisionContext result;
  result.templates = templates::parse_template(kTemplate, "template.yaml").value();
  result.policy.inject_by_default = true;
  return result;
}

Output inject(const std::string& text, OutputFormat format = OutputFormat::AsInput) {
  std::istringstream in(text);
  std::ostringstream out;
  std::ostringstream err;
  RewriteOptions options;
  options.files = {"-"};
  options.output = format;
  const int code = run_inject(options, context(), {in, out, err});
  return {code, out.str(), err.str()};
}

std::string uninject(const std::string& text) {
  std::istringstream in(text);
  std::ostringstream out;
  std::ostringstream err;
  RewriteOptions options;
  options.files = {"-"};
  REQUIRE(run_uninject(options, core::Policy(), {in, out, err}) == kDone);
  return out.str();
}

Json only_object(const std::string& text) {
  std::istringstream in(text);
  std::ostringstream sink;
  Json object;
  const auto take = [&](const Json& found) -> base::Result<void> {
    object = found;
    return {};
  };
  REQUIRE(visit_objects({"-"}, take, {in, sink, sink}).has_value());
  return object;
}

void check_style(const std::string& text) {
  INFO(text);
  const Output injected = inject(text);
  INFO(injected.out << injected.err);
  REQUIRE(injected.code == kDone);
  CHECK(injected.err.find("injected (") != std::string::npos);
  CHECK(injected.err.find("reformatted") == std::string::npos);
  CHECK(injected.out != text);
  const auto as_json = base::read_json(inject(text, OutputFormat::Json).out);
  REQUIRE(as_json.has_value());
  CHECK(base::same(only_object(injected.out), as_json.value()));
  CHECK(uninject(injected.out) == text);
}

TEST_CASE("styles: empty and absent parents in blocks come back byte for byte", "[cli]") {
  const std::string head = "apiVersion: v1\nkind: Pod\n";
  const std::string app = "  containers:\n  - name: app\n    image: app\n";
  for (const char* metadata :
       {"metadata: {}\n", "metadata:\n", "metadata: # none\n", "metadata: {name: web}\n",
        "metadata:\n  name: web\n  annotations:\n", "metadata:\n  name: web\n  annotations: {}\n",
        "metadata:\n  annotations:\n    # prometheus.io/scrape: 'true'\n  name: web\n",
        "metadata:\n  name: web\n  annotations: null\n", "metadata:\n  annotations: { }  # c\n",
        "metadata:\n  annotations: {a: b}\n  name: web\n",
        "metadata:\n  annotations: {\n    a: b, # first\n    c: \"d\"\n  }\n  name: web\n",
        "metadata: {\n  # the name\n  name: web, annotations: {a: b}}\n"}) {
    check_style(head + metadata + "spec:\n" + app);
    check_style(head + "spec:\n" + app + metadata);
  }
  for (const char* volumes :
       {"  volumes: []\n", "  volumes:\n", "  volumes: ~  # c\n", "  volumes: [{name: a}]\n",
        "  volumes:\n  # - name: a\n", "  volumes: [\n    {name: a}, # a\n  ]\n",
        "  volumes:\n    - name: a\n      emptyDir:\n", "  volumes: [ ]\n", "  volumes: null\n"}) {
    check_style(head + "metadata:\n  name: web\nspec:\n" + app + volumes);
    check_style(head + "metadata:\n  name: web\nspec:\n" + volumes + app);
  }
  check_style(head + "metadata:\n  name: web\nspec:\n  containers: []\n");
  check_style(head + "metadata:\n  name: web\nspec: {containers: [{name: app}]}\n");
  check_style(head + "metadata:\n  name: web\nspec:\n  initContainers:\n  volumes:\n" + app +
              "    env:\n");
}

TEST_CASE("styles: whole documents in brackets come back byte for byte", "[cli]") {
  check_style(
      "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: a}]}}\n");
  check_style("--- {apiVersion: v1, kind: Pod, metadata: {}, spec: {containers: []}}");
  check_style(
      "# head\n{\n  apiVersion: v1, # version\n  kind: Pod,\n  metadata: {name: web},\n  spec: {\n"
      "    containers: [\n      {name: app}, # the app\n    ], # end\n    volumes: null,\n  "
      "}\n}\n");
  check_style(
      "{\"apiVersion\": \"v1\", # YAML all the same\n \"kind\": \"Pod\",\n \"metadata\": {},\n"
      " \"spec\": {\"containers\": [{\"name\": \"app\"}]}}\n");
}

TEST_CASE("styles: JSON keeps its indentation, its spaces and its last newline", "[cli]") {
  const Json pod =
      Json::parse(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","annotations":{}},)"
                  R"("spec":{"containers":[{"name":"app","args":["a","b"]}],"volumes":null}})");
  for (const std::string end : {"", "\n", "\n\n"}) {
    for (const int indent : {-1, 1, 2, 3, 4, 8}) {
      check_style(pod.dump(indent) + end);
    }
    check_style(pod.dump(1, '\t') + end);
  }
  check_style(R"({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "app"}]}})");
  check_style(
      "{ \"apiVersion\" : \"v1\",\r\n  \"kind\" : \"Pod\",\r\n  \"metadata\" : {\r\n  },\r\n"
      "  \"spec\" : { \"containers\" : [ {\r\n    \"name\" : \"app\"\r\n  } ] }\r\n}\r\n");
}

TEST_CASE("styles: a script that ends a file without a newline keeps both", "[cli]") {
  const std::string text =
      "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\nspec:\n  containers:\n  - name: app\n"
      "    command:\n    - sh\n    - -c\n    - |\n      echo a\n      exec b";
  check_style(text);
  const Json pod = only_object(inject(text).out);
  CHECK(pod.at("spec").at("containers").at(0).at("command").at(2) == "echo a\nexec b\n");
}

TEST_CASE("styles: scripts of every kind at the end of a file keep their value", "[cli]") {
  const std::string head =
      "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\nspec:\n  containers:\n  - name: app\n";
  for (const char* mark : {"|", "|-", "|+", ">", ">-", ">+", "|2"}) {
    for (const char* end : {"", "\n", "\n\n"}) {
      const std::string text =
          head + "    args:\n    - " + mark + "\n      echo a\n      exec b" + end;
      check_style(text);
      const auto args = [](const Json& pod) {
        return pod.at("spec").at("containers").at(0).at("args").at(0);
      };
      CHECK(args(only_object(inject(text).out)) == args(only_object(text)));
    }
  }
}

TEST_CASE("styles: pod templates of workloads come back byte for byte", "[cli]") {
  const std::string head = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n";
  for (const char* pod :
       {"  template:\n    spec:\n      containers: []\n", "  template: {spec: {containers: []}}\n",
        "  template:\n    metadata: {}\n    spec: {containers: [{name: app}]}",
        "  template:\n    metadata:\n      annotations:\n        # none yet\n    spec:\n"
        "      containers:\n      - name: app\n",
        "  template:\n    spec:\n      containers:\n        - {name: app, image: x} # app\n"
        "    metadata: {labels: {a: b}, annotations: {}}\n  replicas: 2\n",
        "  template:\n    metadata:\n      labels:\n        a: b\n\n    spec:\n      # the app\n"
        "      containers:\n\n      - name: app\n\n      # end\n  # of the template\n"
        "  replicas: 2 # two\n"}) {
    check_style(head + pod);
    check_style("---\n# head\n" + head + pod);
  }
  check_style(
      "apiVersion: batch/v1\nkind: CronJob\nspec:\n  jobTemplate: {spec: {template: {spec: "
      "{containers: [{name: app}]}}}}\n");
}

TEST_CASE("styles: line ends of Windows and tabs behind values stay", "[cli]") {
  check_style("apiVersion: v1\r\nkind: Pod\r\nmetadata: {}\r\nspec:\r\n  containers: []\r\n");
  check_style(
      "kind: Pod\r\nmetadata:\r\n  annotations:\r\n    # none\r\nspec:\r\n"
      "  containers:\r\n  - name: app\r\n");
  check_style("kind: Pod\t# tab\nmetadata:\n  name: web\nspec:\n  containers:\t\n  - name: app\n");
}

TEST_CASE("styles: an anchor whose alias would change is still reformatted, and says so", "[cli]") {
  const Output injected = inject(
      "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  volumes: &v\n  - name: a\n"
      "  containers:\n  - name: app\n    x: *v\n");
  CHECK(injected.code == kDone);
  CHECK(injected.err.find("reformatted") != std::string::npos);
}

TEST_CASE("styles: a Pod's null emptyDir is the template's empty one", "[cli]") {
  const Output injected = inject(
      "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\nspec:\n  containers:\n  - name: app\n"
      "  volumes:\n  - name: tmp\n    emptyDir:\n");
  CHECK(injected.err.find("injected (") != std::string::npos);
  CHECK(injected.err.find("VolumeConflict") == std::string::npos);
}

}  // namespace
}  // namespace injector::cli
