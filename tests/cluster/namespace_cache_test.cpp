#include "cluster/namespace_cache.h"

#include <future>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "runtime/process_context.h"
#include "tests/support/eventually.h"
#include "tests/support/fake_api.h"

namespace injector::cluster {
namespace {

using namespace std::chrono_literals;
using tests::eventually;
using tests::FakeApi;

constexpr const char* kKey = "initializer.kubernetes.io/envoy";

std::string name_space(const std::string& name, int version, const std::string& value) {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{}","resourceVersion":"{}","labels":{{"{}":"{}","other":"x"}}}}}})",
      name, version, kKey, value);
}

std::string event(const std::string& type, const std::string& object) {
  return fmt::format(R"({{"type":"{}","object":{}}})", type, object) + "\n";
}

std::unique_ptr<kube::RestClient> client_of(const FakeApi& api) {
  kube::RestOptions options;
  options.broken_retry = base::Duration(1);
  auto client = kube::RestClient::create(api.config(), options);
  REQUIRE(client.has_value());
  return std::move(client).value();
}

bool is_watch(const FakeApi::Request& request) {
  return request.target.find("watch=") != std::string::npos;
}

std::string list_of_one() {
  return R"({"kind":"NamespaceList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[)" +
         name_space("shop", 4, "true") + "]}";
}

TEST_CASE("namespace cache: names of Namespaces that are gone are not kept", "[app]") {
  FakeApi api([](const FakeApi::Request& request, FakeApi::Peer& peer) {
    if (!is_watch(request)) {
      peer.respond(200, list_of_one());
      return;
    }
    peer.start_chunked();
    for (int i = 0; i < 100; ++i) {
      const std::string name = fmt::format("brief-{}", i);
      peer.send_chunk(event("ADDED", name_space(name, 10 + 2 * i, "true")));
      peer.send_chunk(event("DELETED", name_space(name, 11 + 2 * i, "true")));
    }
    peer.send_chunk(event("MODIFIED", name_space("shop", 1000, "false")));
    peer.wait_gone();
  });
  const auto client = client_of(api);
  runtime::ProcessContext process_context{base::Logger::silent()};
  NamespaceCache cache(*client, kKey, process_context.get());
  const auto says_no = [&] {
    const auto facts = cache.find("shop");
    return facts && *core::find(facts->labels, kKey) == "false";
  };
  REQUIRE(eventually(says_no));
  // The handler hears of it a moment after the store, and of everything else before.
  std::set<std::string> changed;
  while (changed.count("shop") == 0) {
    changed.merge(cache.wait_for_changes({}));
  }
  CHECK(changed.size() < 100);
  std::stop_source stop;
  stop.request_stop();
  CHECK(cache.wait_for_changes(stop.get_token()).empty());
}

TEST_CASE("namespace cache: what a Namespace says is read once", "[app]") {
  FakeApi api([](const FakeApi::Request& request, FakeApi::Peer& peer) {
    if (is_watch(request)) {
      peer.start_chunked();
      peer.wait_gone();
    } else {
      peer.respond(200, list_of_one());
    }
  });
  const auto client = client_of(api);
  runtime::ProcessContext process_context{base::Logger::silent()};
  NamespaceCache cache(*client, kKey, process_context.get());
  REQUIRE(cache.wait_for_sync({}));
  const auto facts = cache.find("shop");
  REQUIRE(facts != nullptr);
  CHECK(cache.find("shop") == facts);
  CHECK(facts->labels.size() == 1);
  CHECK(cache.find("other") == nullptr);
  CHECK(eventually([&] { return cache.out_of_touch() == 0ms; }));
}

TEST_CASE("namespace cache: one Namespace is asked for in bounded time", "[app]") {
  std::promise<void> hang;
  const auto hanging = hang.get_future().share();
  FakeApi api([&](const FakeApi::Request& request, FakeApi::Peer& peer) {
    if (request.target == "/api/v1/namespaces/shop") {
      peer.respond(200, name_space("shop", 4, "true"));
    } else if (request.target == "/api/v1/namespaces/slow") {
      hanging.wait();
    } else {
      peer.refuse(404, "NotFound");
    }
  });
  const auto client = client_of(api);
  const auto facts = fetch_namespace(*client, "shop", 10s);
  REQUIRE(facts.has_value());
  CHECK(*core::find(facts.value().labels, kKey) == "true");
  CHECK(fetch_namespace(*client, "gone", 10s).error().code == base::ErrorCode::NotFound);
  const auto slow = fetch_namespace(*client, "slow", 50ms);
  REQUIRE_FALSE(slow.has_value());
  CHECK(slow.error().code == base::ErrorCode::Unavailable);
  hang.set_value();
}

}  // namespace
}  // namespace injector::cluster
