#include <catch2/catch.hpp>

#include "patch/strategic_merge.h"
#include "tests/patch/json.h"

namespace injector::patch {
namespace {

using base::Json;
using base::Result;

Result<Json> patched(const Json& original, const Json& patch) {
  return apply_strategic(original, patch, *schema_for_kind("Pod"));
}

// Applies to {"spec": original}; answers the spec.
Result<Json> apply_spec(const Json& original, const Json& patch) {
  Json document = Json::object();
  Json change = Json::object();
  document["spec"] = original;
  change["spec"] = patch;
  Result<Json> result = patched(document, change);
  return result ? Result<Json>(result.value().at("spec")) : result;
}

Result<Json> apply_metadata(const Json& original, const Json& patch) {
  Json document = Json::object();
  Json change = Json::object();
  document["metadata"] = original;
  change["metadata"] = patch;
  Result<Json> result = patched(document, change);
  return result ? Result<Json>(result.value().at("metadata")) : result;
}

void check(const Result<Json>& got, const Json& expected) {
  INFO("got      " << shown(got));
  INFO("expected " << shown(expected));
  CHECK((got.has_value() && base::same(got.value(), expected)));
}

TEST_CASE("strategic apply: a replaced list is not asked for the keys it had", "[patch]") {
  check(apply_spec(Json::parse(R"({"containers":[{"image":"old"},{"name":"a"}]})"),
                   Json::parse(R"({"containers":[{"$patch":"replace"},{"name":"b"}]})")),
        Json::parse(R"({"containers":[{"name":"b"}]})"));
  CHECK_FALSE(apply_spec(Json::parse(R"({"containers":[{"image":"old"}]})"),
                         Json::parse(R"({"containers":[{"name":"b"}]})"))
                  .has_value());
}

TEST_CASE("strategic apply: members merge, nulls delete, unmatched nulls are ignored", "[patch]") {
  check(apply_spec(R"({"securityContext":{"a":1,"b":2},"x":1})"_j,
                   R"({"securityContext":{"b":null,"c":3,"d":null},"x":2})"_j),
        R"({"securityContext":{"a":1,"c":3},"x":2})"_j);
}

TEST_CASE("strategic apply: a value of another type replaces", "[patch]") {
  check(
      apply_spec(R"({"a":1,"b":[1],"c":{"x":1}})"_j, R"({"a":1.0,"b":{"x":null,"y":1},"c":"s"})"_j),
      R"({"a":1.0,"b":{"y":1},"c":"s"})"_j);
}

TEST_CASE("strategic apply: a new value loses nulls and directive maps, but keeps other directives",
          "[patch]") {
  check(
      apply_spec(R"({})"_j,
                 R"({"dnsConfig":{"a":null,"b":{"$patch":"delete","x":1},"c":{"d":null},
                       "l":[null,{"$patch":"replace"},{"n":null,"m":1}],
                       "$setElementOrder/x":[1],"$retainKeys":["a"]}})"_j),
      R"({"dnsConfig":{"c":{},"l":[null,{"m":1}],"$setElementOrder/x":[1],"$retainKeys":["a"]}})"_j);
}

TEST_CASE("strategic apply: a new member that is a directive map does not appear", "[patch]") {
  check(apply_spec(R"({"a":1})"_j, R"({"a":{"$patch":"delete"},"b":{"$patch":"replace","x":1}})"_j),
        R"({})"_j);
}

TEST_CASE("strategic apply: $patch replace on a map takes the rest verbatim", "[patch]") {
  check(apply_spec(R"({"nodeSelector":{"a":"1"}})"_j,
                   R"({"nodeSelector":{"$patch":"replace","b":"2","c":null}})"_j),
        R"({"nodeSelector":{"b":"2","c":null}})"_j);
}

TEST_CASE("strategic apply: $patch delete on a map empties it", "[patch]") {
  check(apply_spec(R"({"nodeSelector":{"a":"1"}})"_j,
                   R"({"nodeSelector":{"$patch":"delete","b":"2"}})"_j),
        R"({"nodeSelector":{}})"_j);
}

TEST_CASE("strategic apply: an unknown $patch on a map is an error", "[patch]") {
  for (const char* value : {R"("merge")", R"("bogus")", "1", "null"}) {
    INFO(value);
    Json patch = R"({"nodeSelector":{}})"_j;
    patch["nodeSelector"]["$patch"] = base::read_json(value).value();
    CHECK_FALSE(apply_spec(R"({"nodeSelector":{}})"_j, patch));
  }
}

TEST_CASE("strategic apply: elements merge by key, new ones come first without an order",
          "[patch]") {
  check(apply_spec(R"({"containers":[{"name":"a","image":"1"},{"name":"b"}]})"_j,
                   R"({"containers":[{"name":"n","x":null},{"name":"a","image":"2"}]})"_j),
        R"({"containers":[{"name":"n","x":null},{"name":"a","image":"2"},{"name":"b"}]})"_j);
}

TEST_CASE("strategic apply: $setElementOrder decides, live elements keep their place", "[patch]") {
  check(
      apply_spec(R"({"containers":[{"name":"s"},{"name":"a"},{"name":"t"},{"name":"b"}]})"_j,
                 R"({"$setElementOrder/containers":[{"name":"b"},{"name":"n"},{"name":"a"}],
                       "containers":[{"name":"n"},{"name":"a","x":1}]})"_j),
      R"({"containers":[{"name":"s"},{"name":"t"},{"name":"b"},{"name":"n"},{"name":"a","x":1}]})"_j);
}

TEST_CASE("strategic apply: $setElementOrder works without a list in the patch", "[patch]") {
  check(apply_spec(R"({"containers":[{"name":"a"},{"name":"b"}]})"_j,
                   R"({"$setElementOrder/containers":[{"name":"b"},{"name":"a"}]})"_j),
        R"({"containers":[{"name":"b"},{"name":"a"}]})"_j);
}

TEST_CASE("strategic apply: $setElementOrder of a list that nobody has is ignored", "[patch]") {
  check(apply_spec(R"({})"_j, R"({"$setElementOrder/containers":[{"name":"b"}]})"_j), R"({})"_j);
}

TEST_CASE("strategic apply: $setElementOrder of a list new to the object drops directives",
          "[patch]") {
  check(apply_spec(R"({})"_j, R"({"$setElementOrder/containers":[{"name":"a"},{"name":"b"}],
                                  "containers":[{"name":"a"},{"$patch":"delete","name":"c"},
                                                {"name":"b"}]})"_j),
        R"({"containers":[{"name":"a"},{"name":"b"}]})"_j);
}

TEST_CASE("strategic apply: an addition takes the room that a deletion leaves", "[patch]") {
  check(apply_spec(R"({"containers":[{"name":"a"},{"name":"b"}]})"_j,
                   R"({"$setElementOrder/containers":[{"name":"c"}],
                       "containers":[{"$patch":"delete","name":"a"},{"name":"c"}]})"_j),
        R"({"containers":[{"name":"b"},{"name":"c"}]})"_j);
}

TEST_CASE("strategic apply: an order that the patch does not follow is an error", "[patch]") {
  const Json live = R"({"containers":[{"name":"a"},{"name":"b"}]})"_j;
  CHECK_FALSE(apply_spec(live, R"({"$setElementOrder/containers":[{"name":"a"}],
                                   "containers":[{"name":"c"}]})"_j));
  CHECK_FALSE(apply_spec(live, R"({"$setElementOrder/containers":[{"name":"a"},{"name":"b"}],
                                   "containers":[{"name":"b"},{"name":"a"}]})"_j));
  CHECK_FALSE(apply_spec(live, R"({"$setElementOrder/containers":[{"name":"a"}],
                                   "containers":[{"name":"a"},{"$patch":"replace"}]})"_j));
  CHECK_FALSE(apply_spec(live, R"({"$setElementOrder/containers":"a"})"_j));
  CHECK_FALSE(apply_spec(live, R"({"$setElementOrder/containers":[{"x":"a"}]})"_j));
  CHECK_FALSE(
      apply_spec(live, R"({"$setElementOrder/containers":[{"name":"a"}],"containers":1})"_j));
  CHECK_FALSE(apply_spec(live, R"({"$setElementOrder":[{"name":"a"}]})"_j));
}

TEST_CASE("strategic apply: an order for two empty lists is an error", "[patch]") {
  CHECK_FALSE(apply_spec(R"({"containers":[]})"_j,
                         R"({"$setElementOrder/containers":[],"containers":[]})"_j));
}

TEST_CASE("strategic apply: $patch delete removes every element of that key", "[patch]") {
  check(apply_spec(
            R"({"containers":[{"name":"a","x":1},{"name":"b"},{"name":"a","x":2}]})"_j,
            R"({"containers":[{"$patch":"delete","name":"a"},{"$patch":"delete","name":"z"}]})"_j),
        R"({"containers":[{"name":"b"}]})"_j);
}

TEST_CASE("strategic apply: $patch replace swaps the list for the other elements", "[patch]") {
  check(apply_spec(R"({"containers":[{"name":"a"},{"name":"b"}]})"_j,
                   R"({"containers":[{"name":"z"},{"$patch":"replace"},{"name":"y"}]})"_j),
        R"({"containers":[{"name":"z"},{"name":"y"}]})"_j);
}

TEST_CASE("strategic apply: other directives in list elements are errors", "[patch]") {
  const Json live = R"({"containers":[{"name":"a"}]})"_j;
  CHECK_FALSE(apply_spec(live, R"({"containers":[{"$patch":"merge","name":"a"}]})"_j));
  CHECK_FALSE(apply_spec(live, R"({"containers":[{"$patch":"bogus","name":"a"}]})"_j));
  CHECK_FALSE(apply_spec(live, R"({"containers":[{"$patch":"delete"}]})"_j));
}

TEST_CASE("strategic apply: elements without their merge key are errors", "[patch]") {
  CHECK_FALSE(
      apply_spec(R"({"containers":[{"name":"a"}]})"_j, R"({"containers":[{"image":"x"}]})"_j));
  CHECK_FALSE(
      apply_spec(R"({"containers":[{"image":"x"}]})"_j, R"({"containers":[{"name":"a"}]})"_j));
  CHECK_FALSE(apply_spec(R"({"containers":[{"name":"a"}]})"_j, R"({"containers":["a"]})"_j));
  CHECK_FALSE(
      apply_spec(R"({"containers":[{"name":null}]})"_j, R"({"containers":[{"name":null}]})"_j));
}

TEST_CASE("strategic apply: an empty patch list changes nothing", "[patch]") {
  check(apply_spec(R"({"containers":[{"name":"a"}]})"_j, R"({"containers":[]})"_j),
        R"({"containers":[{"name":"a"}]})"_j);
}

TEST_CASE("strategic apply: an atomic list is replaced raw", "[patch]") {
  check(apply_spec(R"({"tolerations":[{"key":"a"}]})"_j,
                   R"({"tolerations":[{"key":null},{"$patch":"x"}]})"_j),
        R"({"tolerations":[{"key":null},{"$patch":"x"}]})"_j);
}

TEST_CASE("strategic apply: unknown maps are replaced, not merged", "[patch]") {
  check(apply_spec(R"({"new":{"a":1,"b":2}})"_j, R"({"new":{"a":3,"c":null}})"_j),
        R"({"new":{"a":3}})"_j);
}

TEST_CASE("strategic apply: $retainKeys drops what it does not list", "[patch]") {
  check(apply_spec(R"({"volumes":[{"name":"v","emptyDir":{},"x":1}]})"_j,
                   R"({"volumes":[{"name":"v","hostPath":{"path":"/"},"emptyDir":null,
                       "$retainKeys":["name","hostPath"]}]})"_j),
        R"({"volumes":[{"name":"v","hostPath":{"path":"/"}}]})"_j);
}

TEST_CASE("strategic apply: a key that $retainKeys does not list is an error", "[patch]") {
  CHECK_FALSE(apply_spec(R"({"volumes":[{"name":"v"}]})"_j,
                         R"({"volumes":[{"name":"v","x":1,"$retainKeys":["name"]}]})"_j));
  CHECK_FALSE(apply_spec(R"({"volumes":[{"name":"v"}]})"_j,
                         R"({"volumes":[{"name":"v","$retainKeys":"name"}]})"_j));
}

TEST_CASE("strategic apply: scalars merge as a set, new ones first", "[patch]") {
  check(apply_metadata(R"({"finalizers":["b","a"]})"_j, R"({"finalizers":["c","a"]})"_j),
        R"({"finalizers":["c","b","a"]})"_j);
}

TEST_CASE("strategic apply: $deleteFromPrimitiveList removes scalars, from atomic lists too",
          "[patch]") {
  check(apply_metadata(R"({"finalizers":["b","a","b"]})"_j,
                       R"({"$deleteFromPrimitiveList/finalizers":["b"]})"_j),
        R"({"finalizers":["a"]})"_j);
  check(apply_spec(R"({"dnsConfig":{"searches":["x","y"]}})"_j,
                   R"({"dnsConfig":{"$deleteFromPrimitiveList/searches":["x"]}})"_j),
        R"({"dnsConfig":{"searches":["y"]}})"_j);
}

TEST_CASE("strategic apply: $deleteFromPrimitiveList of nothing does nothing", "[patch]") {
  check(apply_metadata(R"({})"_j, R"({"$deleteFromPrimitiveList/finalizers":["b"]})"_j), R"({})"_j);
  CHECK_FALSE(apply_metadata(R"({})"_j, R"({"$deleteFromPrimitiveList":["b"]})"_j));
  CHECK_FALSE(apply_spec(R"({"tolerations":[{"key":"a"}]})"_j,
                         R"({"$deleteFromPrimitiveList/tolerations":[{"key":"a"}]})"_j));
}

TEST_CASE("strategic apply: the patch and the original stay as they were", "[patch]") {
  const Json original = R"({"spec":{"containers":[{"name":"a","x":1}]}})"_j;
  const Json patch = R"({"spec":{"containers":[{"name":"a","x":null}]}})"_j;
  const Json original_before = original;
  const Json patch_before = patch;
  REQUIRE(patched(original, patch).has_value());
  CHECK(base::same(original, original_before));
  CHECK(base::same(patch, patch_before));
}

TEST_CASE("strategic apply: key order is the original's, new keys follow", "[patch]") {
  CHECK(shown(patched(R"({"z":1,"a":2,"m":3})"_j, R"({"m":null,"b":4,"z":5})"_j)) ==
        R"({"z":5,"a":2,"b":4})");
}

}  // namespace
}  // namespace injector::patch
