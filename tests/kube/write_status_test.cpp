#include "kube/write_status.h"

#include <memory>
#include <string>
#include <utility>

#include <catch2/catch.hpp>

#include "base/json_text.h"
#include "tests/support/fake_api.h"

namespace injector::kube {
namespace {

using base::ErrorCode;
using base::Json;
using tests::FakeApi;

// A server that gives one answer to everything.
struct Bench {
  explicit Bench(int code = 200, std::string reason = "")
      : api([code, reason = std::move(reason)](const FakeApi::Request& /*request*/,
                                               FakeApi::Peer& peer) {
          code == 200 ? peer.respond(200, "{}") : peer.refuse(code, reason);
        }),
        client(RestClient::create(api.config(), {}).value()) {}

  [[nodiscard]] base::Result<bool> write(const Json& object, const Json& status) const {
    return write_status(*client, kDeployments, object, status, {});
  }

  FakeApi api;
  std::unique_ptr<RestClient> client;
};

Json object_with(const Json& status) {
  Json object = {{"apiVersion", "apps/v1"}, {"kind", "Deployment"}};
  object["metadata"] = {
      {"name", "web"}, {"namespace", "ns"}, {"uid", "u1"}, {"resourceVersion", "7"}};
  object["status"] = status;
  return object;
}

}  // namespace

TEST_CASE("write status: merges into the subresource of the version that was seen", "[kube]") {
  const Bench bench;
  const auto written = bench.write(object_with({{"phase", "Failed"}}), {{"phase", "Ready"}});
  REQUIRE(written);
  REQUIRE(written.value());
  REQUIRE(bench.api.requests().size() == 1);
  const FakeApi::Request request = bench.api.requests().front();
  CHECK(request.method == "PATCH");
  CHECK(request.target == "/apis/apps/v1/namespaces/ns/deployments/web/status");
  CHECK(request.header("content-type") == "application/merge-patch+json");
  CHECK(base::same(
      base::read_json(request.body).value(),
      {{"metadata", {{"uid", "u1"}, {"resourceVersion", "7"}}}, {"status", {{"phase", "Ready"}}}}));
}

TEST_CASE("write status: what the object says already is not sent", "[kube]") {
  const Bench bench;
  const Json object = object_with({{"phase", "Ready"}, {"deep", {{"a", 1}}}, {"others", "word"}});
  for (const Json& status : {Json{{"phase", "Ready"}}, Json{{"deep", {{"a", 1}}}},
                             Json{{"phase", "Ready"}, {"gone", nullptr}}, Json::object()}) {
    const auto written = bench.write(object, status);
    REQUIRE(written);
    CHECK_FALSE(written.value());
  }
  CHECK(bench.api.requests().empty());
}

TEST_CASE("write status: a first status, another one and less of one are news", "[kube]") {
  const Bench bench;
  Json fresh = object_with({});
  fresh.erase("status");
  CHECK(bench.write(fresh, {{"phase", "Ready"}}).value());
  CHECK(bench.write(object_with({{"generation", 1}}), {{"generation", 2}}).value());
  CHECK(bench.write(object_with({{"phase", "Ready"}}), {{"phase", nullptr}}).value());
  CHECK(bench.api.requests().size() == 3);
}

TEST_CASE("write status: an object that is gone is no failure", "[kube]") {
  const auto written = Bench(404, "NotFound").write(object_with({}), {{"phase", "Ready"}});
  REQUIRE(written);
  CHECK_FALSE(written.value());
}

TEST_CASE("write status: a newer version and a refusal are errors", "[kube]") {
  const auto newer = Bench(409, "Conflict").write(object_with({}), {{"phase", "Ready"}});
  REQUIRE_FALSE(newer);
  CHECK(newer.error().code == ErrorCode::Conflict);
  const auto refused = Bench(403, "Forbidden").write(object_with({}), {{"phase", "Ready"}});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::Forbidden);
}

}  // namespace injector::kube
