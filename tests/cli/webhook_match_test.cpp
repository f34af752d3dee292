#include "cli/webhook_match.h"

#include <string>

#include <catch2/catch.hpp>

#include "base/json_text.h"
#include "cli/match_condition.h"
#include "tests/support/manifests.h"
#include "yaml/yaml.h"

namespace injector::cli {
namespace {

using base::Json;

Json yaml(const std::string& text) {
  auto read = yaml::read_yaml(text);
  if (!read) {
    FAIL(read.error().message);
  }
  return std::move(read.value().value);
}

const Json& asking_pod() {
  static const Json kPod = yaml(R"(metadata:
  annotations: {initializer.kubernetes.io/envoy: "true"}
  labels: {app: web}
)");
  return kPod;
}

Json webhook(const std::string& more) {
  return yaml(R"(rules:
- {apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE], scope: Namespaced}
)" + more);
}

CallVerdict ask(const Json& entry, const Json& pod, const Json& name_space) {
  return would_call(entry, {pod, "shop", name_space.is_null() ? nullptr : &name_space});
}

TEST_CASE("webhook match: one for new Pods without selectors is called", "[cli]") {
  CHECK(ask(webhook(""), asking_pod(), {}).called == Called::Yes);
  const Json empty = webhook("namespaceSelector: {}\nobjectSelector: {matchLabels: {}}\n");
  CHECK(ask(empty, asking_pod(), {}).called == Called::Yes);
}

TEST_CASE("webhook match: rules that are not for new Pods say no", "[cli]") {
  for (const char* rule :
       {"{apiGroups: [apps], apiVersions: [v1], resources: [deployments], operations: [CREATE]}",
        "{apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [UPDATE]}",
        "{apiGroups: [''], apiVersions: [v1], resources: [pods/status], operations: ['*']}",
        "{apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [CREATE], "
        "scope: Cluster}"}) {
    INFO(rule);
    const auto verdict = ask(yaml(std::string("rules: [") + rule + "]"), asking_pod(), {});
    CHECK(verdict.called == Called::No);
    CHECK(verdict.why.rfind("rules: ", 0) == 0);
  }
  const Json all = yaml(
      "rules: [{apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'], operations: ['*']}]");
  CHECK(ask(all, asking_pod(), {}).called == Called::Yes);
}

TEST_CASE("webhook match: a namespace selector decides by the Namespace's labels", "[cli]") {
  const Json entry = webhook(R"(namespaceSelector:
  matchExpressions:
  - {key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system]}
  - {key: initializer.kubernetes.io/exclude, operator: DoesNotExist}
)");
  CHECK(ask(entry, asking_pod(), yaml("metadata: {labels: {a: b}}")).called == Called::Yes);
  CHECK(ask(entry, asking_pod(), yaml("metadata: {}")).called == Called::Yes);
  const auto excluded =
      ask(entry, asking_pod(), yaml("metadata: {labels: {initializer.kubernetes.io/exclude: ''}}"));
  CHECK(excluded.called == Called::No);
  CHECK(excluded.why ==
        "namespaceSelector: Namespace shop does not meet \"initializer.kubernetes.io/exclude "
        "DoesNotExist\"");
  CHECK(ask(entry, asking_pod(),
            yaml("metadata: {labels: {kubernetes.io/metadata.name: "
                 "kube-system}}"))
            .called == Called::No);
  CHECK(ask(entry, asking_pod(), {}).called == Called::Unknown);
}

TEST_CASE("webhook match: an object selector decides by the Pod's labels", "[cli]") {
  const auto called = [](const std::string& selector) {
    return ask(webhook("objectSelector: " + selector), asking_pod(), {}).called;
  };
  CHECK(called("{matchLabels: {app: web}}") == Called::Yes);
  CHECK(called("{matchLabels: {app: db}}") == Called::No);
  CHECK(called("{matchExpressions: [{key: app, operator: In, values: [db, web]}]}") == Called::Yes);
  CHECK(called("{matchExpressions: [{key: app, operator: NotIn, values: [web]}]}") == Called::No);
  CHECK(called("{matchExpressions: [{key: app, operator: Exists}]}") == Called::Yes);
  CHECK(called("{matchExpressions: [{key: other, operator: Exists}]}") == Called::No);
}

TEST_CASE("webhook match: the conditions of our manifests are evaluated", "[cli]") {
  const Json configuration = tests::manifest("base/webhook.yaml", "MutatingWebhookConfiguration");
  const Json& pod_asks = configuration.at("webhooks").at(0).at("matchConditions").at(0);
  const Json& pod_is_silent = configuration.at("webhooks").at(1).at("matchConditions").at(0);

  struct Case {
    const char* metadata;
    bool asks;
    bool is_silent;
  };

  for (const Case& one : {
           Case{"{}", false, true},
           Case{"{labels: {app: web}, annotations: {a: b}}", false, true},
           Case{"{annotations: {initializer.kubernetes.io/envoy: 'true'}}", true, false},
           Case{"{annotations: {initializer.kubernetes.io/envoy: 'ture'}}", true, false},
           Case{"{annotations: {initializer.kubernetes.io/envoy: 'False'}}", false, false},
           Case{"{labels: {initializer.kubernetes.io/envoy: 'true'}}", true, false},
           Case{"{annotations: {initializer.kubernetes.io/envoy: 'false'}, labels: "
                "{initializer.kubernetes.io/envoy: 'true'}}",
                false, false},
       }) {
    INFO(one.metadata);
    Json variables = Json::object();
    variables["object"] = Json::object({{"metadata", yaml(one.metadata)}});
    CHECK(evaluate_condition(base::text_of(&pod_asks.at("expression")), variables) == one.asks);
    CHECK(evaluate_condition(base::text_of(&pod_is_silent.at("expression")), variables) ==
          one.is_silent);
  }

  Json entry = webhook("");
  entry["matchConditions"] = Json::array({pod_asks});
  CHECK(ask(entry, asking_pod(), {}).called == Called::Yes);
  const auto silent = ask(entry, yaml("metadata: {labels: {app: web}}"), {});
  CHECK(silent.called == Called::No);
  CHECK(silent.why == "matchCondition \"pod-asks\" does not hold");
}

TEST_CASE("webhook match: what cannot be evaluated is unknown, unless another part says no",
          "[cli]") {
  const std::string odd = "matchConditions: [{name: odd, expression: 'object.spec.all(c, c)'}]\n";
  const auto unknown = ask(webhook(odd), asking_pod(), {});
  CHECK(unknown.called == Called::Unknown);
  CHECK(unknown.why == "matchCondition \"odd\" cannot be evaluated here");
  CHECK(ask(webhook(odd + "objectSelector: {matchLabels: {app: db}}\n"), asking_pod(), {}).called ==
        Called::No);
}

TEST_CASE("match condition: answers as the API server would, or not at all", "[cli]") {
  const Json variables = yaml(R"(
object: {metadata: {name: web-0, annotations: {a: "True"}}, spec: {hostNetwork: true}}
oldObject: null
request: {operation: CREATE, namespace: shop}
)");

  struct Case {
    const char* expression;
    std::optional<bool> answer;
  };

  for (const Case& one : {
           Case{"true", true},
           Case{"!true", false},
           Case{"!(true && false)", true},
           Case{"true || object.nothing", true},
           Case{"object.nothing || true", true},
           Case{"object.nothing && false", false},
           Case{"object.nothing == 'a'", std::nullopt},
           Case{"has(object.metadata.labels)", false},
           Case{"has(object.metadata.annotations)", true},
           Case{"has(object.metadata.labels.a)", std::nullopt},
           Case{"'a' in object.metadata.annotations", true},
           Case{"object.metadata.annotations['a'] == \"True\"", true},
           Case{"object.metadata.annotations['a'].lowerAscii() in ['true', 'enabled']", true},
           Case{"object.metadata.annotations['a'] in ['true']", false},
           Case{"object.metadata.name.startsWith('web-') && request.operation == 'CREATE'", true},
           Case{"request.namespace != 'kube-system'", true},
           Case{"!(request.namespace in ['kube-system', 'shop'])", false},
           Case{"oldObject == null", true},
           Case{"has(object.metadata.labels) ? false : true", true},
           Case{"object.spec.hostNetwork", true},
           Case{"object.metadata.name", std::nullopt},
           Case{"1 == 1", true},
           Case{"1 < 2", std::nullopt},
           Case{"object.?metadata.orValue(1)", std::nullopt},
           Case{"object.metadata.?annotations[?'a'].orValue('') == 'True'", true},
           Case{"object.metadata.?labels['a'].hasValue()", false},
           Case{"object.nothing.?labels.hasValue()", std::nullopt},
           Case{"object.?metadata", std::nullopt},
           Case{"authorizer.group('')", std::nullopt},
           Case{"'\\x41' == 'A'", std::nullopt},
           Case{"", std::nullopt},
           Case{"(true", std::nullopt},
           Case{"true true", std::nullopt},
           Case{"'a", std::nullopt},
           Case{"has(", std::nullopt},
       }) {
    INFO(one.expression);
    CHECK(evaluate_condition(one.expression, variables) == one.answer);
  }
  CHECK_FALSE(evaluate_condition(std::string(100'000, '('), variables).has_value());
  CHECK_FALSE(evaluate_condition(std::string(100'000, '!') + "true", variables).has_value());
}

}  // namespace
}  // namespace injector::cli
