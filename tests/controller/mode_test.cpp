#include "controller/mode.h"

#include <map>
#include <set>
#include <string>
#include <utility>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "tests/support/fake_api.h"

namespace injector::controller {
namespace {

using tests::FakeApi;

constexpr const char* kWebhook =
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/envoy-initializer";

// An API server that answers discovery: `resources` by group version, and whether our webhook is
// registered.
struct Server {
  std::map<std::string, std::set<std::string>> resources{
      {"/api/v1", {"pods", "pods/eviction"}},
      {"/apis/apps/v1", {"deployments"}},
      {"/apis/batch/v1", {"jobs", "cronjobs"}},
      {"/apis/coordination.k8s.io/v1", {"leases"}}};
  int webhook = 404;
  int minor = 30;

  void answer(const FakeApi::Request& request, FakeApi::Peer& peer) const {
    if (request.target == "/version") {
      peer.respond(200, fmt::format(R"({{"major":"1","minor":"{}"}})", minor));
    } else if (request.target == kWebhook && webhook == 200) {
      peer.respond(200, "{}");
    } else if (request.target == kWebhook) {
      peer.refuse(webhook, webhook == 403 ? "Forbidden" : "NotFound");
    } else if (const auto group = resources.find(request.target); group != resources.end()) {
      std::string list;
      for (const std::string& name : group->second) {
        list += fmt::format(R"({}{{"name":"{}","kind":"K","version":"v1"}})",
                            list.empty() ? "" : ",", name);
      }
      peer.respond(200, R"({"kind":"APIResourceList","resources":[)" + list + "]}");
    } else {
      peer.refuse(404, "NotFound");
    }
  }

  [[nodiscard]] base::Result<Task> find(ModeRequest request) const {
    FakeApi api(
        [this](const FakeApi::Request& asked, FakeApi::Peer& peer) { answer(asked, peer); });
    request.webhook_configuration = "envoy-initializer";
    const auto client = kube::RestClient::create(api.config(), {});
    REQUIRE(client.has_value());
    return find_task(*client.value(), request, {});
  }
};

TEST_CASE("mode: auto is initializer where the server has initializers", "[controller]") {
  Server server;
  server.webhook = 200;
  server.resources["/apis/admissionregistration.k8s.io/v1alpha1"] = {"initializerconfigurations"};
  const auto task = server.find({});
  REQUIRE(task.has_value());
  REQUIRE(task.value().mode == Mode::Initializer);
}

TEST_CASE("mode: auto is repair where our webhook is registered", "[controller]") {
  Server server;
  server.webhook = 200;
  const auto task = server.find({});
  REQUIRE(task.has_value());
  REQUIRE(task.value().mode == Mode::Repair);
  REQUIRE(task.value().eviction_version == "v1");
}

TEST_CASE("mode: auto is workloads without our webhook, or where it may not be read",
          "[controller]") {
  Server server;
  server.webhook = GENERATE(404, 403);
  const auto task = server.find({.resources = {"deployments", "cronjobs"}});
  REQUIRE(task.has_value());
  REQUIRE(task.value().mode == Mode::Workloads);
  REQUIRE(task.value().resources.size() == 2);
}

TEST_CASE("mode: a mode that is named is not looked for", "[controller]") {
  Server server;
  server.webhook = 200;
  const auto task = server.find({.mode = "workloads", .resources = {"jobs"}});
  REQUIRE(task.has_value());
  REQUIRE(task.value().mode == Mode::Workloads);
}

TEST_CASE("mode: evictions and dry runs need a server that knows dry runs", "[controller]") {
  Server server;
  server.minor = 12;
  ModeRequest request{.mode = "repair"};
  REQUIRE(server.find(request).has_value());
  request.evicts = true;
  REQUIRE(server.find(request).error().code == base::ErrorCode::NotFound);
  REQUIRE(server.find({.mode = "workloads", .dry_run = true}).error().code ==
          base::ErrorCode::NotFound);
}

TEST_CASE("mode: leader election needs Leases", "[controller]") {
  Server server;
  server.resources.erase("/apis/coordination.k8s.io/v1");
  const auto task = server.find({.mode = "workloads", .leader_elect = true});
  REQUIRE_FALSE(task.has_value());
  REQUIRE(task.error().message.find("--leader-elect") != std::string::npos);
}

TEST_CASE("mode: servers before 1.29 have no native sidecars", "[controller]") {
  Server server;
  server.minor = GENERATE(28, 29);
  const auto task = server.find({.mode = "workloads"});
  REQUIRE(task.has_value());
  REQUIRE(task.value().native_sidecars == (server.minor == 29));
}

}  // namespace
}  // namespace injector::controller
