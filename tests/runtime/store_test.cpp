#include "runtime/store.h"

#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/runtime/fakes.h"

namespace injector::runtime {
namespace {

using fakes::object;

std::set<std::string> keys(const std::vector<ObjectPtr>& objects) {
  std::set<std::string> all;
  for (const ObjectPtr& each : objects) {
    all.insert(key_of(*each));
  }
  REQUIRE(all.size() == objects.size());
  return all;
}

using Keys = std::set<std::string>;

TEST_CASE("store: gives back what was put, by key or by its parts", "[runtime]") {
  Store store;
  REQUIRE(store.put(object("a", "1")) == nullptr);
  REQUIRE(store.get("ns/a")->resource_version == "1");
  REQUIRE(store.get("ns", "a") == store.get("ns/a"));
  REQUIRE(store.get("a") == nullptr);
  REQUIRE(store.get("other/a") == nullptr);
}

TEST_CASE("store: put returns what it replaced, erase what it removed", "[runtime]") {
  Store store;
  store.put(object("a", "1"));
  REQUIRE(store.put(object("a", "2"))->resource_version == "1");
  REQUIRE(store.size() == 1);
  REQUIRE(store.erase("ns/a")->resource_version == "2");
  REQUIRE(store.erase("ns/a") == nullptr);
  REQUIRE(store.size() == 0);
}

TEST_CASE("store: lists by namespace", "[runtime]") {
  Store store;
  store.put(object("a", "1", "one"));
  store.put(object("b", "1", "one"));
  store.put(object("a", "1", "two"));
  store.put(object("node", "1", ""));
  REQUIRE(keys(store.list_namespace("one")) == Keys{"one/a", "one/b"});
  REQUIRE(keys(store.list_namespace("")) == Keys{"node"});
  REQUIRE(store.list_namespace("three").empty());
  store.erase("two/a");
  REQUIRE(store.list_namespace("two").empty());
  REQUIRE(keys(store.list()) == Keys{"one/a", "one/b", "node"});
}

TEST_CASE("store: readers never see half of a change", "[runtime][threads]") {
  Store store;
  store.put(object("a", "0"));
  std::atomic<bool> wrong = false;
  {
    const auto read = [&](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        const auto in_namespace = store.list_namespace("ns");
        wrong = wrong || in_namespace.size() != 1 || store.get("ns/a") == nullptr;
      }
    };
    const std::jthread one(read);
    const std::jthread two(read);
    for (int version = 1; version < 2000; ++version) {
      store.put(object("a", std::to_string(version)));
    }
  }
  REQUIRE_FALSE(wrong);
}

}  // namespace
}  // namespace injector::runtime
