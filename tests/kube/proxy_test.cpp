#include <memory>
#include <string>

#include <catch2/catch.hpp>

#include "kube/rest_client.h"
#include "tests/support/fake_api.h"
#include "tests/support/test_proxy.h"

namespace injector::kube {
namespace {

using tests::FakeApi;
using tests::TestProxy;

const Target kWeb{kPods, "default", "web", {}};

/// A client for `api`, reached under a name that only a proxy can resolve.
std::unique_ptr<RestClient> client_through(const FakeApi& api, const std::string& proxy) {
  ClientConfig config = api.config();
  const std::string port = config.server.substr(config.server.rfind(':'));
  const bool tls = config.server.starts_with("https");
  config.server = (tls ? "https://api.invalid" : "http://api.invalid") + port;
  config.tls.server_name = "localhost";
  auto parsed = http::parse_proxy(proxy);
  REQUIRE(parsed.has_value());
  config.proxy = parsed.value();
  RestOptions options;
  options.qps = 0;
  options.broken_retry = base::Duration(1);
  auto client = RestClient::create(config, options);
  REQUIRE(client.has_value());
  return std::move(client).value();
}

FakeApi::Handler empty_object() {
  return [](const FakeApi::Request& /*request*/, FakeApi::Peer& peer) { peer.respond(200, "{}"); };
}

}  // namespace

TEST_CASE("proxy: https goes through a tunnel, and the next request uses the same", "[kube]") {
  TestProxy proxy;
  FakeApi api(empty_object());
  const auto client = client_through(api, "http://" + proxy.host());
  CHECK(client->get(kWeb, {}).has_value());
  CHECK(client->get(kWeb, {}).has_value());
  REQUIRE(proxy.heads().size() == 1);
  CHECK(proxy.heads()[0].starts_with("CONNECT api.invalid:"));
  CHECK(api.requests().size() == 2);
}

TEST_CASE("proxy: user and password are sent to it and not to the server", "[kube]") {
  TestProxy proxy("Basic bWU6YSBi");  // me:a b
  FakeApi api(empty_object());
  CHECK(client_through(api, "http://me:a%20b@" + proxy.host())->get(kWeb, {}).has_value());
  REQUIRE(api.requests().size() == 1);
  CHECK(api.requests()[0].header("proxy-authorization").empty());
}

TEST_CASE("proxy: plain HTTP asks it for the whole address", "[kube]") {
  TestProxy proxy;
  FakeApi api(empty_object(), FakeApi::Security::Plain);
  CHECK(client_through(api, proxy.host())->get(kWeb, {}).has_value());
  REQUIRE(proxy.heads().size() == 1);
  CHECK(proxy.heads()[0].starts_with("GET http://api.invalid:"));
}

TEST_CASE("proxy: errors name it, without its password", "[kube]") {
  TestProxy proxy("Basic other");
  FakeApi api(empty_object());
  const auto refused = client_through(api, "http://me:secret@" + proxy.host())->get(kWeb, {});
  REQUIRE_FALSE(refused.has_value());
  CAPTURE(refused.error().message);
  CHECK(refused.error().message.find("proxy http://" + proxy.host()) != std::string::npos);
  CHECK(refused.error().message.find("407 Proxy Authentication Required") != std::string::npos);
  CHECK(refused.error().message.find("secret") == std::string::npos);
  CHECK(api.connections() == 0);

  const auto nobody = client_through(api, "http://127.0.0.1:1")->get(kWeb, {});
  REQUIRE_FALSE(nobody.has_value());
  CHECK(nobody.error().message.find("proxy http://127.0.0.1:1: connect: ") != std::string::npos);
}

}  // namespace injector::kube
