#include "base/json.h"

#include <string>

#include <catch2/catch.hpp>

namespace injector::base {
namespace {

TEST_CASE("json: key order does not matter for sameness, list order does", "[base]") {
  REQUIRE(same(Json::parse(R"({"a":1,"b":2})"), Json::parse(R"({"b":2,"a":1})")));
  REQUIRE_FALSE(same(Json::parse("[1,2]"), Json::parse("[2,1]")));
}

TEST_CASE("json: an integer is the same however it is stored, and never a float", "[base]") {
  REQUIRE(same(Json(5), Json(5U)));
  REQUIRE_FALSE(same(Json(1), Json(1.0)));
  REQUIRE_FALSE(same(Json(-1), Json(18446744073709551615U)));
}

TEST_CASE("json: find follows keys and answers null on the way", "[base]") {
  const Json pod = Json::parse(R"({"spec":{"containers":[1]}})");
  REQUIRE(find(pod, "spec", "containers") != nullptr);
  REQUIRE(find(pod, "metadata", "name") == nullptr);
  REQUIRE(find(pod, "spec", "containers", "name") == nullptr);
}

TEST_CASE("json: depth is measured without recursion", "[base]") {
  Json deep;
  for (int i = 0; i < 100'000; ++i) {
    Json outer = Json::array();
    outer.push_back(std::move(deep));
    deep = std::move(outer);
  }
  REQUIRE(deeper_than(deep, kMaxJsonDepth));
  REQUIRE_FALSE(deeper_than(Json::parse("[[1]]"), 2));
  REQUIRE(deeper_than(Json::parse("[[1]]"), 1));
}

}  // namespace
}  // namespace injector::base
