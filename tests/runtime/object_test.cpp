#include "runtime/object.h"

#include <string>

#include <catch2/catch.hpp>

#include "tests/runtime/fakes.h"

namespace injector::runtime {
namespace {

using base::Json;

TEST_CASE("object: keys join and split, with and without a namespace", "[runtime]") {
  REQUIRE(join_key("ns", "a") == "ns/a");
  REQUIRE(join_key("", "node") == "node");
  REQUIRE(split_key("ns/a") == KeyView{"ns", "a"});
  REQUIRE(split_key("node") == KeyView{"", "node"});
}

TEST_CASE("object: takes its strings from the metadata and the rest as text", "[runtime]") {
  const auto object = make_object(fakes::pod("a", "7")).value();
  REQUIRE(key_of(*object) == "ns/a");
  REQUIRE(object->uid == "uid-a");
  REQUIRE(object->resource_version == "7");
  REQUIRE(Json::parse(object->json) == fakes::pod("a", "7"));
}

TEST_CASE("object: without a usable name there is none", "[runtime]") {
  const auto json =
      GENERATE(Json(nullptr), Json(17), Json::array(), Json::object(), Json{{"metadata", nullptr}},
               Json{{"metadata", {{"name", ""}}}}, Json{{"metadata", {{"name", 5}}}},
               Json{{"metadata", {{"name", "a/b"}}}},
               Json{{"metadata", {{"name", "a"}, {"namespace", "b/c"}}}});
  REQUIRE_FALSE(make_object(json).has_value());
}

TEST_CASE("object: bytes that are not UTF-8 do not break it", "[runtime]") {
  Json pod = fakes::pod("a", "1");
  pod["note"] = "\xff\xfe";
  REQUIRE(make_object(pod).has_value());
}

TEST_CASE("object: the default transform drops managedFields and nothing else", "[runtime]") {
  Json pod = fakes::pod("a", "1");
  const Json before = pod;
  pod["metadata"]["managedFields"] = Json::array({Json::object()});
  drop_managed_fields(pod);
  REQUIRE(pod == before);

  Json strange = Json{{"metadata", "text"}};
  drop_managed_fields(strange);
  REQUIRE(strange == Json{{"metadata", "text"}});
}

}  // namespace
}  // namespace injector::runtime
