// The linter against a real API server: for each template of tests/fixtures/lint, a dry run of a
// Pod with it must end as the linter says.

#include <string>

#include <catch2/catch.hpp>

#include "base/json.h"
#include "base/json_text.h"
#include "template/parser.h"
#include "tests/support/api_server.h"
#include "tests/support/lint_cases.h"

namespace injector::tests {
namespace {

using base::Json;

constexpr const char* kDryRun = "/api/v1/namespaces/default/pods?dryRun=All";
constexpr int kCreated = 201;
constexpr int kBadRequest = 400;
constexpr int kInvalid = 422;

const ApiServer& server() {
  static const ApiServer instance{{.flags = {"--allow-privileged=true"}}};
  return instance;
}

void add_list(Json& spec, const Json& tpl, const char* field) {
  const Json* list = base::find(tpl, field);
  if (list == nullptr || !list->is_array()) {
    return;
  }
  for (const Json& item : *list) {
    spec[field].push_back(item);
  }
}

void add_map(Json& metadata, const Json& tpl, const char* field) {
  if (const Json* map = base::find(tpl, field)) {
    metadata[field] = *map;
  }
}

// Built from the JSON: a faulty template never becomes a core::Template.
Json pod_with(const Json& tpl) {
  Json pod = Json::parse(R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe"},
    "spec": {"serviceAccountName": "default", "containers": [{"name": "app", "image": "app"}]}})");
  for (const char* field : {"containers", "initContainers", "volumes", "imagePullSecrets"}) {
    add_list(pod["spec"], tpl, field);
  }
  add_map(pod["metadata"], tpl, "labels");
  add_map(pod["metadata"], tpl, "annotations");
  return pod;
}

ApiServer::Response dry_run(const Json& tpl) {
  return server().request("POST", kDryRun, base::write_json(pod_with(tpl)));
}

bool passes_linter(const Json& tpl) {
  return templates::check_template_file(base::write_json(tpl)).value.has_value();
}

bool is_refusal(int status) {
  return status == kInvalid || status == kBadRequest;
}

TEST_CASE("lint: what it refuses is refused by the API server", "[apiserver]") {
  for (const LintCase& faulty : lint_cases("faulty.yaml")) {
    const auto answer = dry_run(faulty.value);
    INFO(faulty.text << "\n" << answer.status << " " << answer.body);
    CHECK_FALSE(passes_linter(faulty.value));
    CHECK((faulty.differs.empty() ? is_refusal(answer.status) : answer.status == kCreated));
  }
}

TEST_CASE("lint: what it passes is taken by the API server", "[apiserver]") {
  for (const LintCase& good : lint_cases("good.yaml")) {
    const auto answer = dry_run(good.value);
    INFO(good.text << "\n" << answer.status << " " << answer.body);
    CHECK(passes_linter(good.value));
    CHECK((good.differs.empty() ? answer.status == kCreated : is_refusal(answer.status)));
  }
}

TEST_CASE("lint: sidecars as they are in use are taken by the API server", "[apiserver]") {
  for (const char* name : {"mesh-proxy", "light-proxy"}) {
    const std::string file = std::string("fixtures/lint/sidecars/") + name + ".yaml";
    const auto answer = dry_run(yaml::read_yaml(read_file(data_path(file))).value().value);
    INFO(name << " " << answer.body);
    CHECK(answer.status == kCreated);
  }
}

TEST_CASE("lint: the built-in template is taken by the API server", "[apiserver]") {
  const Json tpl = yaml::read_yaml(templates::default_template_text()).value().value;
  const auto answer = dry_run(tpl);
  INFO(answer.body);
  CHECK(answer.status == kCreated);
}

}  // namespace
}  // namespace injector::tests
