// The built-in template: what it must be for a user who has written none.

#include <map>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "base/json.h"
#include "template/parser.h"
#include "yaml/yaml.h"

namespace injector::templates {
namespace {

using base::Json;

Json yaml(std::string_view text) {
  return yaml::read_yaml(text).value().value;
}

Json envoy() {
  const Json tpl = yaml(default_template_text());
  REQUIRE(tpl.at("containers").size() == 1);
  return tpl.at("containers").at(0);
}

// What stands behind --config-yaml.
Json bootstrap() {
  const Json container = envoy();
  const Json& args = container.at("args");
  for (std::size_t i = 0; i + 1 < args.size(); ++i) {
    if (args[i] == "--config-yaml") {
      return yaml(args[i + 1].get<std::string>());
    }
  }
  FAIL("no --config-yaml");
  return {};
}

const Json& address_of(const Json& of) {
  return of.at("address").at("socket_address");
}

std::map<std::string, Json> listeners() {
  std::map<std::string, Json> result;
  const Json config = bootstrap();
  for (const Json& listener : config.at("static_resources").at("listeners")) {
    result[listener.at("name").get<std::string>()] = listener;
  }
  return result;
}

const Json& http_of(const Json& listener) {
  return listener.at("filter_chains").at(0).at("filters").at(0).at("typed_config");
}

const Json& routes_of(const Json& listener) {
  return http_of(listener).at("route_config").at("virtual_hosts").at(0).at("routes");
}

std::map<std::string, int> upstreams() {
  std::map<std::string, int> ports;
  const Json config = bootstrap();
  for (const Json& cluster : config.at("static_resources").at("clusters")) {
    const Json& endpoint =
        cluster.at("load_assignment").at("endpoints").at(0).at("lb_endpoints").at(0).at("endpoint");
    CHECK(address_of(endpoint).at("address") == "127.0.0.1");
    CHECK(cluster.at("load_assignment").at("cluster_name") == cluster.at("name"));
    ports[cluster.at("name").get<std::string>()] = address_of(endpoint).at("port_value").get<int>();
  }
  return ports;
}

TEST_CASE("built-in template: a current Envoy that needs nothing of the Pod's namespace",
          "[codec]") {
  CHECK(envoy().at("image") == "envoyproxy/envoy:distroless-v1.38.0");
  CHECK(default_template().volumes.empty());
  CHECK_FALSE(envoy().contains("volumeMounts"));
  CHECK_FALSE(envoy().contains("envFrom"));
}

TEST_CASE("built-in template: meets the restricted Pod Security standard", "[codec]") {
  const Json expected = Json::parse(R"({
    "allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]},
    "readOnlyRootFilesystem": true, "runAsNonRoot": true, "runAsUser": 65532,
    "runAsGroup": 65532, "seccompProfile": {"type": "RuntimeDefault"}})");
  CHECK(envoy().at("securityContext") == expected);
  const Json container = envoy();
  for (const Json& port : container.at("ports")) {
    CHECK(port.at("containerPort").get<int>() > 1024);
    CHECK_FALSE(port.contains("hostPort"));
  }
}

TEST_CASE("built-in template: the container's ports are those that Envoy listens on", "[codec]") {
  std::set<int> opened;
  const Json container = envoy();
  for (const Json& port : container.at("ports")) {
    opened.insert(port.at("containerPort").get<int>());
  }
  std::set<int> listened;
  for (const auto& [name, listener] : listeners()) {
    CHECK(address_of(listener).at("address") == "0.0.0.0");
    listened.insert(address_of(listener).at("port_value").get<int>());
  }
  CHECK(opened == listened);
  CHECK(opened == std::set<int>{9902, 10000});
}

TEST_CASE("built-in template: inbound requests go to the application and are logged", "[codec]") {
  const Json inbound = listeners().at("inbound");
  REQUIRE(routes_of(inbound).size() == 1);
  CHECK(routes_of(inbound).at(0).at("route").at("cluster") == "application");
  CHECK(upstreams().at("application") == 8080);
  CHECK(http_of(inbound).at("access_log").at(0).at("name") == "envoy.access_loggers.stdout");
}

TEST_CASE("built-in template: of the admin interface only statistics are to be had", "[codec]") {
  const Json config = bootstrap();
  CHECK(address_of(config.at("admin")).at("address") == "127.0.0.1");
  CHECK(upstreams().at("admin") == address_of(config.at("admin")).at("port_value"));
  std::vector<Json> to_admin;
  for (const auto& [name, listener] : listeners()) {
    for (const Json& route : routes_of(listener)) {
      if (const Json* cluster = base::find(route, "route", "cluster");
          cluster != nullptr && *cluster == "admin") {
        to_admin.push_back(route.at("match"));
      }
    }
  }
  CHECK(to_admin == std::vector<Json>{Json::object({{"path", "/stats/prometheus"}})});
}

// Envoy itself answers both: the image has neither shell nor curl.
TEST_CASE("built-in template: readiness and the wait before SIGTERM are paths that Envoy answers",
          "[codec]") {
  const Json ready = envoy().at("readinessProbe").at("httpGet");
  const Json stop = envoy().at("lifecycle").at("preStop").at("httpGet");
  CHECK(ready.at("port") == "envoy-stats");
  CHECK(stop.at("port") == "envoy-stats");
  const Json statistics = listeners().at("statistics");
  const Json& check = http_of(statistics).at("http_filters").at(0).at("typed_config");
  CHECK(check.at("headers").at(0).at("string_match").at("exact") == ready.at("path"));
  const Json& wait = routes_of(statistics).at(1);
  CHECK(wait.at("match").at("path") == stop.at("path"));
  CHECK(wait.at("typed_per_filter_config").at("envoy.filters.http.fault").at("delay") ==
        Json::parse(R"({"fixed_delay": "10s", "percentage": {"numerator": 100}})"));
}

void every_typed_config(const Json& value, std::vector<std::string>& untyped) {
  for (const auto& [key, member] : value.items()) {
    if (key == "typed_config" &&
        base::text_of(base::find(member, "@type")).rfind("type.googleapis.com/envoy.", 0) != 0) {
      untyped.push_back(value.dump());
    }
    if (member.is_structured()) {
      every_typed_config(member, untyped);
    }
  }
}

TEST_CASE("built-in template: every extension of its bootstrap says its v3 type", "[codec]") {
  std::vector<std::string> untyped;
  const Json config = bootstrap();
  every_typed_config(config, untyped);
  CHECK(untyped == std::vector<std::string>());
  CHECK(config.dump().find(".v2.") == std::string::npos);
}

}  // namespace
}  // namespace injector::templates
