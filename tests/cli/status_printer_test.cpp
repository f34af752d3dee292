// What status prints, in every format.

#include "cli/status_printer.h"

#include <sstream>
#include <string>

#include <catch2/catch.hpp>

#include "template/parser.h"
#include "yaml/yaml.h"

namespace injector::cli {
namespace {

using base::Json;

core::Template template_of(const std::string& image) {
  return templates::parse_template("containers: [{name: envoy, image: " + image + "}]", "t")
      .value();
}

Json pod(const std::string& name, const std::string& owner_kind, const std::string& owner,
         const std::string& hash, const std::string& template_hash) {
  Json object = Json({{"apiVersion", "v1"}, {"kind", "Pod"}});
  object["metadata"] = Json({{"name", name}, {"namespace", "shop"}});
  object["metadata"]["annotations"]["initializer.kubernetes.io/envoy"] = "true";
  if (!hash.empty()) {
    object["metadata"]["labels"]["pod-template-hash"] = hash;
  }
  if (!owner.empty()) {
    object["metadata"]["ownerReferences"] = Json::array({Json({{"apiVersion", "apps/v1"},
                                                               {"kind", owner_kind},
                                                               {"name", owner},
                                                               {"uid", "u"},
                                                               {"controller", true}})});
  }
  if (!template_hash.empty()) {
    object["metadata"]["annotations"]["initializer.kubernetes.io/envoy-status"] =
        base::to_text(Json({{"template", template_hash}, {"containers", Json::array({"envoy"})}}));
  }
  object["spec"]["containers"] = Json::array({Json({{"name", "app"}, {"image", "app"}})});
  return object;
}

StatusReport report() {
  const core::Template tpl = template_of("e");
  StatusReport result;
  result.template_source = "built-in template (sha256:1)";
  for (const Json& one :
       {pod("web-5d-a", "ReplicaSet", "web-5d", "5d", tpl.hash),
        pod("web-5d-b", "ReplicaSet", "web-5d", "5d", tpl.hash),
        pod("web-4c-c", "ReplicaSet", "web-4c", "4c", "sha256:old"),
        pod("db-0", "StatefulSet", "db", "", ""), pod("alone", "", "", "", tpl.hash)}) {
    add_pod(one, nullptr, core::TemplateSet::view_of(tpl), {}, result);
  }
  sort_rows(result);
  return result;
}

std::string print(const StatusView& view) {
  std::ostringstream out;
  const auto done = write_status(report(), view, out);
  return done ? out.str() : "error: " + done.error().message;
}

StatusView in_format(const std::string& output) {
  return {.output = parse_output(output).value()};
}

TEST_CASE("status: a row per owner; ReplicaSets count for their Deployment", "[cli]") {
  CHECK(print({}) ==
        "template: built-in template (sha256:1)\n"
        "NAMESPACE  OWNER           INJECTED  OUTDATED  MISSING\n"
        "shop       deployment/web  2/3       1         0\n"
        "shop       pod/alone       1/1       0         0\n"
        "shop       statefulset/db  0/1       0         1\n"
        "asked 5: injected 3, outdated 1, missing 1 (of 5 Pods)\n");
}

TEST_CASE("status: --show-all is a row per Pod, --no-headers rows alone", "[cli]") {
  StatusView view;
  view.show_all = true;
  view.headers = false;
  CHECK(print(view) ==
        "shop       alone     injected  pod/alone\n"
        "shop       db-0      missing   statefulset/db\n"
        "shop       web-4c-c  outdated  deployment/web\n"
        "shop       web-5d-a  injected  deployment/web\n"
        "shop       web-5d-b  injected  deployment/web\n");
}

TEST_CASE("status: wide names the Pods that are not well, or each one's template", "[cli]") {
  CHECK_THAT(
      print(in_format("wide")),
      Catch::Contains("PODS\n") && Catch::Contains("2/3       1         0        web-4c-c\n"));
  StatusView all = in_format("wide");
  all.show_all = true;
  CHECK_THAT(print(all),
             Catch::Contains("TEMPLATE\n") && Catch::Contains("deployment/web  sha256:old\n"));
}

TEST_CASE("status: name, json, yaml and jsonpath", "[cli]") {
  CHECK(print(in_format("name")) == "deployment/web\npod/alone\nstatefulset/db\n");
  StatusView pods = in_format("name");
  pods.show_all = true;
  CHECK_THAT(print(pods), Catch::StartsWith("pod/alone\npod/db-0\n"));
  CHECK(print(in_format(R"(jsonpath={range .owners[*]}{.owner}={.missing}{"\n"}{end})")) ==
        "deployment/web=0\npod/alone=0\nstatefulset/db=1\n");
  const Json read = yaml::read_yaml(print(in_format("yaml"))).value().value;
  CHECK(read.at("pods").size() == 5);
  CHECK(base::same(read, yaml::read_yaml(print(in_format("json"))).value().value));
}

TEST_CASE("status: -o and --sort-by that are not understood are errors", "[cli]") {
  CHECK_FALSE(parse_output("xml"));
  CHECK_FALSE(parse_output("jsonpath={..x}"));
  StatusView view;
  view.sort_by = "{..x}";
  CHECK_THAT(print(view), Catch::StartsWith("error: --sort-by: "));
}

TEST_CASE("status: --sort-by sorts numbers by size and keeps the order of equals", "[cli]") {
  StatusView view = in_format("name");
  view.sort_by = ".asked";
  CHECK(print(view) == "pod/alone\nstatefulset/db\ndeployment/web\n");
  view.sort_by = "missing";
  CHECK(print(view) == "deployment/web\npod/alone\nstatefulset/db\n");
}

TEST_CASE("status: a watch prints the rows that changed, once", "[cli]") {
  std::map<std::string, Json> before;
  std::ostringstream first;
  write_changes(report(), {}, before, first);
  CHECK_THAT(first.str(), Catch::Contains("deployment/web") && Catch::Contains("statefulset/db"));
  std::ostringstream second;
  write_changes(report(), {}, before, second);
  CHECK(second.str().empty());
  StatusReport changed = report();
  changed.rows.front().state = core::PodState::Missing;  // pod/alone
  std::ostringstream third;
  write_changes(changed, {}, before, third);
  CHECK(third.str() == "shop       pod/alone  0/1       0         1\n");
}

}  // namespace
}  // namespace injector::cli
