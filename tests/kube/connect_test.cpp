#include "kube/connect.h"

#include <string>

#include <catch2/catch.hpp>

#include "tests/support/fake_api.h"
#include "tests/support/temp_dir.h"

namespace injector::kube {
namespace {

using tests::FakeApi;

TEST_CASE("connect: the client asks the server of the kubeconfig", "[kube]") {
  const FakeApi api([](const FakeApi::Request& /*request*/,
                       FakeApi::Peer& peer) { peer.respond(200, R"({"kind":"Pod"})"); },
                    FakeApi::Security::Plain);
  const tests::TempDir dir;
  const std::string kubeconfig = dir.write("config", R"({"current-context": "c",
    "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u", "namespace": "shop"}}],
    "clusters": [{"name": "k", "cluster": {"server": ")" +
                                                         api.url() + R"("}}],
    "users": [{"name": "u", "user": {}}]})");
  const auto client = connect({.kubeconfig = kubeconfig}, {.user_agent = "test"});
  REQUIRE(client);
  CHECK(client.value()->default_namespace() == "shop");
  REQUIRE(client.value()->get({kPods, "shop", "web", {}}, {}));
  CHECK(api.requests().front().header("user-agent") == "test");
}

TEST_CASE("connect: a kubeconfig that is not there is an error that names it", "[kube]") {
  const auto client = connect({.kubeconfig = "/no/such/file"}, {});
  REQUIRE_FALSE(client);
  CHECK(client.error().message.find("/no/such/file") != std::string::npos);
}

}  // namespace
}  // namespace injector::kube
