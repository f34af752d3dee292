// For which Pods the API server calls us, as base/webhook.yaml says it; and for which ConfigMap.

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "base/json_text.h"
#include "tests/support/child_process.h"
#include "tests/support/manifests.h"
#include "tests/support/paths.h"
#include "tests/support/temp_dir.h"

namespace injector::tests {
namespace {

using base::Json;

constexpr const char* kKey = "initializer.kubernetes.io/envoy";

std::map<std::string, Json> webhooks() {
  std::map<std::string, Json> result;
  const Json all = manifest("base/webhook.yaml", "MutatingWebhookConfiguration");
  for (const Json& webhook : all.at("webhooks")) {
    const auto name = webhook.at("name").get<std::string>();
    result[name.substr(0, name.find(".initializer"))] = webhook;
  }
  return result;
}

Json validating() {
  return manifest("base/template-webhook.yaml", "ValidatingWebhookConfiguration")
      .at("webhooks")
      .at(0);
}

Json all_pods() {
  const Json patch = objects_of(read_file(manifest_path("components/all-pods/webhook.yaml"))).at(0);
  return patch.at(0).at("value");
}

std::string condition(const Json& webhook) {
  REQUIRE(webhook.at("matchConditions").size() == 1);
  return webhook.at("matchConditions").at(0).at("expression").get<std::string>();
}

// Brackets in pairs outside of quotes, and quotes closed.
bool balanced(const std::string& expression) {
  std::string open;
  bool quoted = false;
  for (const char c : expression) {
    if (c == '\'') {
      quoted = !quoted;
    } else if (!quoted && (c == '(' || c == '[')) {
      open += c == '(' ? ')' : ']';
    } else if (!quoted && (c == ')' || c == ']')) {
      if (open.empty() || open.back() != c) {
        return false;
      }
      open.pop_back();
    }
  }
  return open.empty() && !quoted;
}

std::set<std::string> quoted_words(const std::string& expression) {
  std::set<std::string> words;
  for (std::size_t at = expression.find('\''); at != std::string::npos;) {
    const std::size_t end = expression.find('\'', at + 1);
    words.insert(expression.substr(at + 1, end - at - 1));
    at = expression.find('\'', end + 1);
  }
  return words;
}

std::set<std::string> values_of(const Json& selector, const std::string& key) {
  std::set<std::string> values;
  for (const Json& rule : selector.at("matchExpressions")) {
    if (rule.at("key") == key && rule.at("operator") == "NotIn") {
      for (const Json& value : rule.at("values")) {
        values.insert(value.get<std::string>());
      }
    }
  }
  return values;
}

TEST_CASE("registration: one entry for Pods that ask, one for Namespaces that do", "[manifests]") {
  const auto entries = webhooks();
  REQUIRE(entries.size() == 2);
  for (const auto& [name, entry] : entries) {
    INFO(name);
    CHECK(entry.at("failurePolicy") == "Fail");
    CHECK(entry.at("sideEffects") == "NoneOnDryRun");
    CHECK(balanced(condition(entry)));
    CHECK(quoted_words(condition(entry)).contains(kKey));
  }
  CHECK(quoted_words(condition(entries.at("envoy"))) ==
        std::set<std::string>{kKey, "false", "disabled"});
  CHECK(quoted_words(condition(entries.at("namespace.envoy"))) == std::set<std::string>{kKey});
}

TEST_CASE("registration: a condition with an open bracket or quote is noticed", "[manifests]") {
  CHECK(balanced("!(a['(']) && b"));
  CHECK_FALSE(balanced("!(a['b')"));
  CHECK_FALSE(balanced("a)"));
  CHECK_FALSE(balanced("'a"));
}

TEST_CASE("registration: only the label of a Namespace counts, and no is no", "[manifests]") {
  const Json selector = webhooks().at("namespace.envoy").at("namespaceSelector");
  CHECK(values_of(selector, kKey) ==
        std::set<std::string>{"false", "False", "FALSE", "disabled", "Disabled", "DISABLED"});
  const Json exists = Json::object({{"key", kKey}, {"operator", "Exists"}});
  const Json& rules = selector.at("matchExpressions");
  CHECK(std::find(rules.begin(), rules.end(), exists) != rules.end());
}

TEST_CASE("registration: every entry exempts the namespaces that the README lists", "[manifests]") {
  const std::string readme = read_file(manifest_path("README.md"));
  const std::string label = "kubernetes.io/metadata.name";
  const auto expected = values_of(webhooks().at("envoy").at("namespaceSelector"), label);
  CHECK(expected.contains("kube-system"));
  CHECK(expected.contains("envoy-initializer"));
  CHECK(expected.contains("calico-system"));
  for (const Json& entry : {webhooks().at("namespace.envoy"), all_pods()}) {
    CHECK(values_of(entry.at("namespaceSelector"), label) == expected);
    CHECK(values_of(entry.at("namespaceSelector"), "initializer.kubernetes.io/exclude") ==
          std::set<std::string>{"true"});
  }
  for (const std::string& name : expected) {
    INFO(name);
    CHECK(readme.find("`" + name + "`") != std::string::npos);
  }
}

TEST_CASE("registration: the webhook for all Pods blocks none", "[manifests]") {
  CHECK(all_pods().at("failurePolicy") == "Ignore");
  CHECK(all_pods().at("sideEffects") == "NoneOnDryRun");
}

TEST_CASE("registration: templates are looked at, and nobody is ever blocked by that",
          "[manifests]") {
  const Json webhook = validating();
  CHECK(webhook.at("failurePolicy") == "Ignore");
  CHECK(webhook.at("clientConfig").at("service").at("path") == "/validate");
  CHECK(webhook.at("rules").at(0).at("operations") == Json::array({"CREATE", "UPDATE"}));
  CHECK(webhook.at("rules").at(0).at("resources") == Json::array({"configmaps"}));
  CHECK(condition(webhook) == "object.metadata.name == 'envoy-initializer'");
  const Json ours = manifest("namespace/namespace.yaml", "Namespace");
  for (const auto& [key, value] : webhook.at("namespaceSelector").at("matchLabels").items()) {
    CHECK(ours.at("metadata").at("labels").at(key) == value);
  }
}

std::vector<std::string> patched_paths(const std::string& file) {
  const Json patch = base::read_json(read_file(file)).value();
  std::vector<std::string> paths;
  for (const Json& operation : patch) {
    CHECK(operation.at("value").get<std::string>().size() > 100);
    paths.push_back(operation.at("path").get<std::string>());
  }
  return paths;
}

TEST_CASE("registration: certs/make has a CA for every webhook of the base", "[manifests]") {
  const TempDir dir;
  const std::string out = dir.file("out");
  const int code = run({.argv = {data_path("../certs/make"), out},
                        .log_file = dir.file("log"),
                        .env = {std::string("PROGRAM=") + kProgram}});
  INFO(tail(dir.file("log")));
  REQUIRE(code == 0);
  CHECK(webhooks().size() == 2);
  CHECK(patched_paths(out + "/ca-bundle.json") ==
        std::vector<std::string>{"/webhooks/0/clientConfig/caBundle",
                                 "/webhooks/1/clientConfig/caBundle"});
  CHECK(patched_paths(out + "/template-ca-bundle.json") ==
        std::vector<std::string>{"/webhooks/0/clientConfig/caBundle"});
}

}  // namespace
}  // namespace injector::tests
