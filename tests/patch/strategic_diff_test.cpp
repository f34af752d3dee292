#include <catch2/catch.hpp>

#include "patch/strategic_merge.h"
#include "tests/patch/json.h"

namespace injector::patch {
namespace {

using base::Json;
using base::Result;

Result<Json> diff(const Json& original, const Json& modified, const char* kind = "Pod") {
  return two_way_merge_patch(original, modified, *schema_for_kind(kind));
}

// The diff between two Pods that differ in one member of the spec.
Result<Json> diff_spec(const char* member, const Json& original, const Json& modified) {
  Json left = Json::object();
  Json right = Json::object();
  left["spec"][member] = original;
  right["spec"][member] = modified;
  Result<Json> patch = diff(left, right);
  if (!patch || patch.value().empty()) {
    return patch;
  }
  return patch.value().at("spec");
}

Result<Json> diff_finalizers(const Json& original, const Json& modified) {
  Json left = Json::object();
  Json right = Json::object();
  left["metadata"]["finalizers"] = original;
  right["metadata"]["finalizers"] = modified;
  Result<Json> patch = diff(left, right);
  if (!patch || patch.value().empty()) {
    return patch;
  }
  return patch.value().at("metadata");
}

void check(const Result<Json>& got, const Json& expected) {
  INFO("got      " << shown(got));
  INFO("expected " << shown(expected));
  CHECK((got.has_value() && base::same(got.value(), expected)));
}

TEST_CASE("strategic diff: equal documents give an empty patch", "[patch]") {
  check(diff(R"({"spec":{"a":1,"b":[1]}})"_j, R"({"spec":{"b":[1],"a":1}})"_j), R"({})"_j);
}

TEST_CASE("strategic diff: an added member is taken whole, a removed one is null", "[patch]") {
  check(diff(R"({"metadata":{"labels":{"a":"1"}}})"_j, R"({"spec":{"x":{"y":null}}})"_j),
        R"({"spec":{"x":{"y":null}},"metadata":null})"_j);
}

TEST_CASE("strategic diff: a removed null is a null in the patch", "[patch]") {
  check(diff(R"({"a":null})"_j, R"({})"_j), R"({"a":null})"_j);
}

TEST_CASE("strategic diff: another type is a change, 1 and 1.0 too", "[patch]") {
  check(diff(R"({"a":1,"b":{"x":1},"c":2})"_j, R"({"a":1.0,"b":[1],"c":2})"_j),
        R"({"a":1.0,"b":[1]})"_j);
}

TEST_CASE("strategic diff: known objects recurse into members", "[patch]") {
  check(diff_spec("securityContext", R"({"runAsUser":1,"runAsGroup":2})"_j,
                  R"({"runAsUser":1,"fsGroup":3})"_j),
        R"({"securityContext":{"fsGroup":3,"runAsGroup":null}})"_j);
}

TEST_CASE("strategic diff: a list without merge key is replaced whole", "[patch]") {
  check(
      diff_spec("tolerations", R"([{"key":"a"},{"key":"b"}])"_j, R"([{"key":"b"},{"key":"a"}])"_j),
      R"({"tolerations":[{"key":"b"},{"key":"a"}]})"_j);
}

TEST_CASE("strategic diff: changed unknown objects and lists are replaced whole", "[patch]") {
  check(diff(R"({"spec":{"new":{"a":1,"b":2},"list":[1]}})"_j,
             R"({"spec":{"new":{"a":1,"b":3},"list":[2]}})"_j),
        R"({"spec":{"new":{"a":1,"b":3},"list":[2]}})"_j);
}

TEST_CASE("strategic diff: field names match without regard to case", "[patch]") {
  check(diff(R"({"Spec":{"CONTAINERS":[{"name":"a","image":"1"}]}})"_j,
             R"({"Spec":{"CONTAINERS":[{"name":"a","image":"2"}]}})"_j),
        R"({"Spec":{"$setElementOrder/CONTAINERS":[{"name":"a"}],
            "CONTAINERS":[{"name":"a","image":"2"}]}})"_j);
}

TEST_CASE("strategic diff: elements are matched by key, changed, added and deleted", "[patch]") {
  check(diff_spec("containers", R"([{"name":"a","image":"1"},{"name":"b"},{"name":"c","x":1}])"_j,
                  R"([{"name":"d"},{"name":"c","x":1},{"name":"a","image":"2"}])"_j),
        R"({"$setElementOrder/containers":[{"name":"d"},{"name":"c"},{"name":"a"}],
            "containers":[{"name":"d"},{"name":"a","image":"2"},{"$patch":"delete","name":"b"}]})"_j);
}

TEST_CASE("strategic diff: deletions stand in the order of their keys", "[patch]") {
  check(diff_spec("imagePullSecrets", R"([{"name":"c"},{"name":"a"},{"name":"b"}])"_j,
                  R"([{"name":"b"}])"_j),
        R"({"$setElementOrder/imagePullSecrets":[{"name":"b"}],
            "imagePullSecrets":[{"$patch":"delete","name":"a"},{"$patch":"delete","name":"c"}]})"_j);
}

TEST_CASE("strategic diff: another order alone is only an order", "[patch]") {
  check(diff_spec("containers", R"([{"name":"a"},{"name":"b"}])"_j,
                  R"([{"name":"b"},{"name":"a"}])"_j),
        R"({"$setElementOrder/containers":[{"name":"b"},{"name":"a"}]})"_j);
}

TEST_CASE("strategic diff: no order where the original was empty or the modified is", "[patch]") {
  check(diff_spec("containers", R"([])"_j, R"([{"name":"a"}])"_j),
        R"({"containers":[{"name":"a"}]})"_j);
  check(diff_spec("containers", R"([{"name":"a"}])"_j, R"([])"_j),
        R"({"containers":[{"$patch":"delete","name":"a"}]})"_j);
}

TEST_CASE("strategic diff: keys are paired by text, so 80 and \"80\" are one port", "[patch]") {
  check(diff_spec("containers", R"([{"name":"a","ports":[{"containerPort":80}]}])"_j,
                  R"([{"name":"a","ports":[{"containerPort":"80"}]}])"_j),
        R"({"$setElementOrder/containers":[{"name":"a"}],"containers":[{"name":"a",
            "$setElementOrder/ports":[{"containerPort":"80"}],"ports":[{"containerPort":"80"}]}]})"_j);
}

TEST_CASE("strategic diff: a volume lists the keys it retains", "[patch]") {
  check(diff_spec("volumes", R"([{"name":"v","emptyDir":{}}])"_j,
                  R"([{"name":"v","hostPath":{"path":"/x"},"nfs":null}])"_j),
        R"({"$setElementOrder/volumes":[{"name":"v"}],"volumes":[{"name":"v","emptyDir":null,
            "hostPath":{"path":"/x"},"nfs":null,"$retainKeys":["hostPath","name"]}]})"_j);
}

TEST_CASE("strategic diff: an added volume has no retained keys", "[patch]") {
  check(
      diff_spec("volumes", R"([{"name":"a"}])"_j, R"([{"name":"a"},{"name":"b","emptyDir":{}}])"_j),
      R"({"$setElementOrder/volumes":[{"name":"a"},{"name":"b"}],
            "volumes":[{"name":"b","emptyDir":{}}]})"_j);
}

TEST_CASE("strategic diff: a deployment's strategy lists the keys it retains", "[patch]") {
  check(
      diff(R"({"spec":{"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1}}}})"_j,
           R"({"spec":{"strategy":{"type":"Recreate"}}})"_j, "Deployment"),
      R"({"spec":{"strategy":{"type":"Recreate","rollingUpdate":null,"$retainKeys":["type"]}}})"_j);
}

TEST_CASE("strategic diff: scalars are added and deleted as a set", "[patch]") {
  check(diff_finalizers(R"(["a","b","b"])"_j, R"(["d","c","a"])"_j),
        R"({"$setElementOrder/finalizers":["d","c","a"],"$deleteFromPrimitiveList/finalizers":["b"],
            "finalizers":["d","c"]})"_j);
}

TEST_CASE("strategic diff: an unchanged unsorted set of scalars gets an order, as upstream",
          "[patch]") {
  check(diff_finalizers(R"(["b","a"])"_j, R"(["b","a"])"_j),
        R"({"$setElementOrder/finalizers":["b","a"]})"_j);
}

TEST_CASE("strategic diff: a set of scalars that becomes sorted gets nothing, as upstream",
          "[patch]") {
  check(diff_finalizers(R"(["b","a"])"_j, R"(["a","b"])"_j), R"({})"_j);
}

TEST_CASE("strategic diff: duplicate keys are paired from the last to the first", "[patch]") {
  check(
      diff_spec("containers",
                R"([{"name":"a","ports":[{"containerPort":1,"n":1},{"containerPort":1,"n":2}]}])"_j,
                R"([{"name":"a","ports":[{"containerPort":1,"n":1}]}])"_j),
      R"({"$setElementOrder/containers":[{"name":"a"}],"containers":[{"name":"a",
            "$setElementOrder/ports":[{"containerPort":1}],
            "ports":[{"containerPort":1,"n":1},{"$patch":"delete","containerPort":1}]}]})"_j);
}

TEST_CASE("strategic diff: pending initializers are a merge list", "[patch]") {
  check(diff(R"({"metadata":{"initializers":{"pending":[{"name":"x"},{"name":"y"}]}}})"_j,
             R"({"metadata":{"initializers":{"pending":[{"name":"y"}]}}})"_j),
        R"({"metadata":{"initializers":{"$setElementOrder/pending":[{"name":"y"}],
            "pending":[{"$patch":"delete","name":"x"}]}}})"_j);
}

TEST_CASE("strategic diff: every kind reaches its containers", "[patch]") {
  struct Case {
    const char* kind;
    const char* path;
  };

  for (const Case& each :
       {Case{"Pod", "/spec"}, Case{"PodTemplateSpec", "/spec"},
        Case{"PodTemplate", "/template/spec"}, Case{"Deployment", "/spec/template/spec"},
        Case{"StatefulSet", "/spec/template/spec"}, Case{"DaemonSet", "/spec/template/spec"},
        Case{"ReplicaSet", "/spec/template/spec"},
        Case{"ReplicationController", "/spec/template/spec"}, Case{"Job", "/spec/template/spec"},
        Case{"CronJob", "/spec/jobTemplate/spec/template/spec"}}) {
    INFO(each.kind);
    Json left = Json::object();
    Json right = Json::object();
    Json expected = Json::object();
    const Json::json_pointer spec(each.path);
    left[spec]["containers"] = R"([{"name":"a"}])"_j;
    right[spec]["containers"] = R"([{"name":"a"},{"name":"b"}])"_j;
    expected[spec] = R"({"$setElementOrder/containers":[{"name":"a"},{"name":"b"}],
                         "containers":[{"name":"b"}]})"_j;
    check(diff(left, right, each.kind), expected);
  }
}

TEST_CASE("strategic diff: lists that cannot be matched are errors", "[patch]") {
  CHECK_FALSE(diff_spec("containers", R"([{"name":"a"}])"_j, R"([{"image":"x"}])"_j));
  CHECK_FALSE(diff_spec("containers", R"([{"name":"a"}])"_j, R"([{"name":"a"},null])"_j));
  CHECK_FALSE(diff_spec("containers", R"([null])"_j, R"([])"_j));
  CHECK_FALSE(diff_spec("containers", R"([{"name":"a"}])"_j, R"(["a"])"_j));
  CHECK_FALSE(diff_spec("containers", R"([[1]])"_j, R"([[2]])"_j));
  CHECK_FALSE(diff_spec("containers", R"([{"name":["a"]}])"_j, R"([{"name":["b"]}])"_j));
  CHECK_FALSE(diff_finalizers(R"(["a"])"_j, R"([1])"_j));
  CHECK_FALSE(diff_finalizers(R"([{"a":1}])"_j, R"([{"a":2}])"_j));
  CHECK_FALSE(diff_finalizers(R"([1])"_j, R"([1.5])"_j));
}

TEST_CASE("strategic diff: an error names the path", "[patch]") {
  const Result<Json> patch = diff_spec("containers", R"([{"name":"a"}])"_j, R"([{"image":"x"}])"_j);
  CHECK(patch.error().message == R"(spec: containers: a list element has no merge key "name")");
}

TEST_CASE("strategic diff: documents that are no objects are errors", "[patch]") {
  CHECK_FALSE(diff(R"([])"_j, R"({})"_j));
  CHECK_FALSE(diff(R"({})"_j, R"(null)"_j));
}

TEST_CASE("strategic diff: a document with directives as data gets no duplicate keys", "[patch]") {
  const Result<Json> patch =
      diff(R"({"spec":{"containers":[{"name":"a"}]}})"_j,
           R"({"spec":{"$setElementOrder/containers":1,"containers":[{"name":"b"}]}})"_j);
  REQUIRE(patch.has_value());
  CHECK(base::read_json(base::write_json(patch.value())).value().dump() == patch.value().dump());
}

}  // namespace
}  // namespace injector::patch
