// However much a Pod says, what is repeated of it is short.

#include <string>

#include <catch2/catch.hpp>

#include "core/gather.h"
#include "core/inject.h"
#include "core/tree_node.h"

namespace injector::core {
namespace {

using base::Json;

const char* const kKey = "initializer.kubernetes.io/envoy";

Template envoy() {
  Template tpl;
  tpl.containers.emplace_back(
      Json::parse(R"({"name":"envoy","ports":[{"containerPort":80,"protocol":"TCP"}]})"));
  tpl.volumes.emplace_back(Json::parse(R"({"name":"conf","configMap":{"name":"envoy"}})"));
  return tpl;
}

Json pod_with(const std::string& answer) {
  return {{"metadata", {{"name", "p"}, {"annotations", {{kKey, answer}}}}},
          {"spec", {{"containers", Json::array({Json{{"name", "app"}}})}}}};
}

Decision decide(const Json& pod) {
  return inject(pod_facts(pod).value(), nullptr, envoy(), {});
}

const std::string kLong(100'000, 'x');

TEST_CASE("inject: a value that is neither yes nor no is repeated up to 100 characters", "[core]") {
  const Decision decision = decide(pod_with(kLong));
  REQUIRE(decision.reason == Reason::UnrecognizedValue);
  CHECK(decision.detail.size() < 300);
  CHECK_THAT(decision.detail, Catch::Contains("xxx… (100000 characters)"));
  CHECK(decision.warnings.front().message.size() < 300);
}

TEST_CASE("inject: a value cannot steer the terminal that shows it", "[core]") {
  const Decision decision = decide(pod_with("tru\x1b[2Je\n\u202e"));
  CHECK_THAT(decision.detail, Catch::Contains(R"("tru\u001b[2Je\n\u202e")"));
}

TEST_CASE("inject: long names are repeated up to 100 characters", "[core]") {
  Json pod = pod_with("true");
  pod["metadata"]["name"] = pod["metadata"]["namespace"] = kLong;
  pod["spec"]["volumes"] = Json::array({Json{{"name", "conf"}, {"emptyDir", Json::object()}}});
  const Decision refused = decide(pod);
  REQUIRE(refused.reason == Reason::VolumeConflict);
  CHECK(refused.detail.size() < 600);

  pod["spec"].erase("volumes");
  Json& app = pod["spec"]["containers"][0];
  app["name"] = kLong;
  app["ports"] = Json::array({Json{{"containerPort", 80}}});
  const Decision warned = decide(pod);
  REQUIRE(warned.warnings.size() == 1);
  CHECK(warned.warnings.front().message.size() < 400);
}

TEST_CASE("pod facts: a problem with a long key is short", "[core]") {
  Json pod = pod_with("true");
  pod["metadata"]["annotations"][kLong] = 1;
  const auto facts = pod_facts(pod);
  REQUIRE_FALSE(facts.has_value());
  CHECK(facts.error().message.size() < 300);
}

TEST_CASE("pod facts: with a template, only volumes of its names are kept", "[core]") {
  Json pod = pod_with("true");
  Json& volumes = pod["spec"]["volumes"] = Json::array();
  for (int count = 0; count < 1000; ++count) {
    volumes.push_back({{"name", "v" + std::to_string(count)}, {"emptyDir", Json::object()}});
  }
  volumes.push_back({{"name", "conf"}, {"configMap", {{"name", "envoy"}}}});
  const TemplateSet tpl = envoy();
  const auto facts = PodFactsGatherer<TreeNode>::gather(TreeNode(&pod), &tpl).value();
  REQUIRE(facts.volumes.size() == 1);
  CHECK(facts.volumes.front().name == "conf");
  CHECK(facts.volume_list == Presence::Present);
  CHECK(pod_facts(pod).value().volumes.size() == 1001);
  CHECK(inject(facts, nullptr, tpl, {}).reason == Reason::Injected);
}

TEST_CASE("pod facts: ports without a number are nobody's", "[core]") {
  Json pod = pod_with("true");
  pod["spec"]["containers"][0]["ports"] =
      Json::array({Json::object(), Json{{"containerPort", 80}}, Json{{"name", "x"}}});
  CHECK(pod_facts(pod).value().containers.front().ports.size() == 1);
}

}  // namespace
}  // namespace injector::core
