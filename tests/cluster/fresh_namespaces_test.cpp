#include "cluster/fresh_namespaces.h"

#include <future>
#include <latch>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
#include <prometheus/text_serializer.h>

#include "tests/support/fake_clock.h"

namespace injector::cluster {
namespace {

using namespace std::chrono_literals;

core::MetaFacts saying(const std::string& value) {
  return {{{core::Policy{}.key, value}}, {}};
}

NamespaceFacts shared(core::MetaFacts facts) {
  return std::make_shared<const core::MetaFacts>(std::move(facts));
}

bool asks(const NamespaceFacts& facts) {
  const std::string* value = facts ? core::find(facts->labels, core::Policy{}.key) : nullptr;
  return value != nullptr && *value == "true";
}

// A cache and a server that may disagree.
struct Bench {
  explicit Bench(FreshNamespacesOptions options = {})
      : namespaces(
            {[this](const std::string& name) -> NamespaceFacts {
               const auto found = cached.find(name);
               return found == cached.end() ? nullptr : shared(found->second);
             },
             [this] { return out_of_touch; },
             [this](const std::string& name, base::Duration) -> base::Result<core::MetaFacts> {
               asked.push_back(name);
               return answer;
             }},
            {}, clock, base::Logger::silent(), options) {}

  std::map<std::string, core::MetaFacts> cached;
  base::Duration out_of_touch{0};
  base::Result<core::MetaFacts> answer = saying("true");
  std::vector<std::string> asked;
  tests::FakeClock clock;
  FreshNamespaces namespaces;
};

TEST_CASE("namespaces: one that asks is believed without a question to the server", "[webhook]") {
  Bench bench;
  bench.cached["shop"] = saying("true");
  CHECK(asks(bench.namespaces.find("shop")));
  CHECK(bench.asked.empty());
}

TEST_CASE("namespaces: a label that the cache has not heard of yet counts", "[webhook]") {
  Bench bench;
  SECTION("the Namespace is known without it") {
    bench.cached["shop"] = {};
  }
  SECTION("it said no before") {
    bench.cached["shop"] = saying("false");
  }
  SECTION("the Namespace is not known") {}
  SECTION("the watch is down") {
    bench.cached["shop"] = {};
    bench.out_of_touch = 5s;
  }
  CHECK(asks(bench.namespaces.find("shop")));
  CHECK(bench.asked == std::vector<std::string>{"shop"});
  CHECK(bench.namespaces.counts().answered == 1);
}

TEST_CASE("namespaces: with the watch down the server's word goes, else the cache's", "[webhook]") {
  Bench bench;
  bench.cached["shop"] = saying("true");
  bench.out_of_touch = 5s;
  bench.answer = core::MetaFacts{};
  CHECK_FALSE(asks(bench.namespaces.find("shop")));
  bench.answer = base::Error{base::ErrorCode::Unavailable, "refused"};
  CHECK(asks(bench.namespaces.find("shop")));
  CHECK(bench.namespaces.counts().failed == 1);
}

TEST_CASE("namespaces: one that does not exist is asked for once a second", "[webhook]") {
  Bench bench;
  bench.answer = base::Error{base::ErrorCode::NotFound, "no such"};
  CHECK(bench.namespaces.find("gone") == nullptr);
  CHECK(bench.namespaces.find("gone") == nullptr);
  CHECK(bench.asked.size() == 1);
  bench.clock.advance(1s);
  CHECK(bench.namespaces.find("gone") == nullptr);
  CHECK(bench.asked.size() == 2);
}

TEST_CASE("namespaces: beyond so many looks a second an up-to-date cache is believed",
          "[webhook]") {
  Bench bench({.a_second = 3});
  bench.cached["shop"] = {};
  bench.answer = core::MetaFacts{};
  for (int i = 0; i < 10; ++i) {
    static_cast<void>(bench.namespaces.find("shop"));
  }
  CHECK(bench.asked.size() == 3);
  CHECK(bench.namespaces.counts().spared == 7);
  SECTION("in the next second there are new ones") {
    bench.clock.advance(1s);
    static_cast<void>(bench.namespaces.find("shop"));
    CHECK(bench.asked.size() == 4);
  }
  SECTION("a stale cache is not believed") {
    bench.out_of_touch = 1s;
    static_cast<void>(bench.namespaces.find("shop"));
    CHECK(bench.asked.size() == 4);
  }
}

TEST_CASE("namespaces: a server that hangs holds up as many as may ask, and those in time",
          "[webhook][threads]") {
  std::latch asked(1);
  std::promise<void> release;
  const auto released = release.get_future().share();
  const tests::FakeClock clock;
  FreshNamespaces namespaces(
      {[](const std::string&) { return shared({}); }, [] { return base::Duration(1s); },
       [&](const std::string&, base::Duration timeout) {
         CHECK(timeout <= 50ms);
         asked.count_down();
         released.wait();
         return base::Result<core::MetaFacts>(saying("true"));
       }},
      {}, clock, base::Logger::silent(), {.timeout = 50ms, .at_once = 1});
  auto first = std::async(std::launch::async, [&] { return namespaces.find("shop"); });
  asked.wait();
  CHECK_FALSE(asks(namespaces.find("shop")));  // The turn did not come in time.
  CHECK(namespaces.counts().spared == 1);
  release.set_value();
  CHECK(asks(first.get()));
  CHECK(asks(namespaces.find("shop")));
}

TEST_CASE("namespaces: how stale the cache is can be scraped", "[webhook]") {
  Bench bench;
  bench.out_of_touch = 2500ms;
  static_cast<void>(bench.namespaces.find("shop"));
  const std::string text =
      prometheus::TextSerializer().Serialize(NamespaceMetrics(bench.namespaces).Collect());
  CHECK_THAT(text, Catch::Contains("envoy_initializer_namespace_cache_age_seconds 2.5"));
  CHECK_THAT(text,
             Catch::Contains("envoy_initializer_namespace_lookups_total{result=\"answered\"} 1"));
}

}  // namespace
}  // namespace injector::cluster
