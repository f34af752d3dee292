#include "patch/json_patch.h"

#include <catch2/catch.hpp>

#include "patch/merge_patch.h"
#include "tests/patch/json.h"

namespace injector::patch {
namespace {

using base::Json;
using base::Result;

std::string applied(const Json& document, const Json& operations) {
  return shown(apply_json_patch(document, operations));
}

std::string difference(const Json& original, const Json& modified) {
  return shown(diff_json_patch(original, modified, schema_for_kind("Pod")));
}

TEST_CASE("json patch: the six operations", "[patch]") {
  CHECK(applied(R"({"a":1})"_j, R"([{"op":"add","path":"/b","value":2}])"_j) == R"({"a":1,"b":2})");
  CHECK(applied(R"({"a":1})"_j, R"([{"op":"add","path":"/a","value":2}])"_j) == R"({"a":2})");
  CHECK(applied(R"([1,3])"_j, R"([{"op":"add","path":"/1","value":2}])"_j) == "[1,2,3]");
  CHECK(applied(R"([1])"_j, R"([{"op":"add","path":"/1","value":2}])"_j) == "[1,2]");
  CHECK(applied(R"([1])"_j, R"([{"op":"add","path":"/-","value":2}])"_j) == "[1,2]");
  CHECK(applied(R"({"a":[1,2]})"_j, R"([{"op":"remove","path":"/a/0"}])"_j) == R"({"a":[2]})");
  CHECK(applied(R"({"a":1,"b":2})"_j, R"([{"op":"replace","path":"/a","value":null}])"_j) ==
        R"({"a":null,"b":2})");
  CHECK(applied(R"({"a":1,"b":[]})"_j, R"([{"op":"move","from":"/a","path":"/b/-"}])"_j) ==
        R"({"b":[1]})");
  CHECK(applied(R"({"a":{"x":1}})"_j, R"([{"op":"copy","from":"/a","path":"/a/y"}])"_j) ==
        R"({"a":{"x":1,"y":{"x":1}}})");
  CHECK(applied(R"({"a":{"x":1,"y":[2]}})"_j,
                R"([{"op":"test","path":"/a","value":{"y":[2],"x":1}}])"_j) ==
        R"({"a":{"x":1,"y":[2]}})");
}

TEST_CASE("json patch: the empty path is the whole document", "[patch]") {
  CHECK(applied(R"({"a":1})"_j, R"([{"op":"replace","path":"","value":[1]}])"_j) == "[1]");
  CHECK(applied(R"({"a":1})"_j, R"([{"op":"add","path":"","value":[1]}])"_j) == "[1]");
  CHECK(applied(R"({"a":{"b":1}})"_j, R"([{"op":"move","from":"/a","path":""}])"_j) ==
        R"({"b":1})");
  CHECK(applied(R"({"a":1})"_j, R"([{"op":"test","path":"","value":{"a":1}}])"_j) == R"({"a":1})");
  CHECK_FALSE(apply_json_patch(R"({"a":1})"_j, R"([{"op":"remove","path":""}])"_j));
}

TEST_CASE("json patch: paths are unescaped", "[patch]") {
  CHECK(applied(R"({"a/b":{"~1":1},"":2})"_j, R"([{"op":"remove","path":"/a~1b/~01"},
                                                  {"op":"replace","path":"/","value":3}])"_j) ==
        R"({"a/b":{},"":3})");
}

TEST_CASE("json patch: an error names the operation by number", "[patch]") {
  CHECK(applied(R"({"spec":{}})"_j, R"([{"op":"add","path":"/a","value":1},
                                        {"op":"test","path":"/a","value":1},
                                        {"op":"remove","path":"/spec/x"}])"_j) ==
        R"(error: operation 3 (remove /spec/x): there is no "x")");
  CHECK(applied(R"({})"_j, R"([1])"_j) == R"(error: operation 1: "op" is missing or unknown)");
}

TEST_CASE("json patch: places that are not there are errors", "[patch]") {
  const Json document = R"({"a":[1,2],"b":null,"c":"s"})"_j;
  for (const char* operation : {
           R"({"op":"add","path":"/x/y","value":1})",
           R"({"op":"add","path":"/b/y","value":1})",
           R"({"op":"add","path":"/c/y","value":1})",
           R"({"op":"add","path":"/a/3","value":1})",
           R"({"op":"add","path":"/a/01","value":1})",
           R"({"op":"add","path":"/a/-1","value":1})",
           R"({"op":"add","path":"/a/1e0","value":1})",
           R"({"op":"add","path":"/a/ 1","value":1})",
           R"({"op":"add","path":"/a/","value":1})",
           R"({"op":"add","path":"/a/99999999999999999999","value":1})",
           R"({"op":"remove","path":"/x"})",
           R"({"op":"remove","path":"/a/2"})",
           R"({"op":"remove","path":"/a/-"})",
           R"({"op":"replace","path":"/x","value":1})",
           R"({"op":"replace","path":"/a/2","value":1})",
           R"({"op":"replace","path":"/a/-","value":1})",
           R"({"op":"move","from":"/x","path":"/y"})",
           R"({"op":"copy","from":"/x","path":"/y"})",
           R"({"op":"move","from":"/a","path":"/a/0"})",
           R"({"op":"test","path":"/x","value":null})",
       }) {
    INFO(operation);
    Json operations = Json::array();
    operations.push_back(base::read_json(operation).value());
    CHECK_FALSE(apply_json_patch(document, operations));
  }
}

TEST_CASE("json patch: operations of the wrong shape are errors", "[patch]") {
  for (const char* operations : {
           R"({"op":"add","path":"/a","value":1})",
           R"([null])",
           R"([{"path":"/a"}])",
           R"([{"op":"ADD","path":"/a","value":1}])",
           R"([{"op":"add","path":"/a"}])",
           R"([{"op":"add","path":"a","value":1}])",
           R"([{"op":"add","path":1,"value":1}])",
           R"([{"op":"add","value":1}])",
           R"([{"op":"copy","path":"/a"}])",
           R"([{"op":"add","path":"/~","value":1}])",
           R"([{"op":"add","path":"/~2","value":1}])",
       }) {
    INFO(operations);
    CHECK_FALSE(apply_json_patch(R"({"a":1})"_j, base::read_json(operations).value()));
  }
}

TEST_CASE("json patch: test tells 1 from 1.0", "[patch]") {
  CHECK_FALSE(apply_json_patch(R"({"a":1})"_j, R"([{"op":"test","path":"/a","value":1.0}])"_j));
}

TEST_CASE("json patch: copies that multiply the document are stopped", "[patch]") {
  Json bomb = Json::array();
  for (int doubling = 0; doubling < 64; ++doubling) {
    bomb.push_back(R"({"op":"copy","from":"/a","path":"/a/-"})"_j);
  }
  const Result<Json> result = apply_json_patch(R"({"a":[1,2,3,4,5,6,7,8]})"_j, bomb);
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().message.find("3 MiB") != std::string::npos);
}

TEST_CASE("json patch: copies that nest the document without end are stopped", "[patch]") {
  Json nesting = Json::array();
  std::string path;
  for (int level = 0; level < 600; ++level) {
    path.append("/a");
    Json operation = R"({"op":"add","value":{}})"_j;
    operation["path"] = path;
    nesting.push_back(operation);
  }
  const Result<Json> result = apply_json_patch(R"({})"_j, nesting);
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().message.find("operation 512 ") == 0);
}

TEST_CASE("json patch diff: an appended container is one addition at the end", "[patch]") {
  CHECK(difference(R"({"spec":{"containers":[{"name":"a"}]}})"_j,
                   R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})"_j) ==
        R"([{"op":"add","path":"/spec/containers/-","value":{"name":"b"}}])");
}

TEST_CASE("json patch diff: a missing parent is added once, as a whole", "[patch]") {
  CHECK(
      difference(R"({"metadata":{}})"_j, R"({"metadata":{"annotations":{"a/b":"1","c":"2"}}})"_j) ==
      R"([{"op":"add","path":"/metadata/annotations","value":{"a/b":"1","c":"2"}}])");
}

TEST_CASE("json patch diff: paths are escaped", "[patch]") {
  CHECK(difference(R"({"metadata":{"annotations":{"a/b~c":"1"}}})"_j,
                   R"({"metadata":{"annotations":{"a/b~c":"2"}}})"_j) ==
        R"([{"op":"replace","path":"/metadata/annotations/a~1b~0c","value":"2"}])");
}

TEST_CASE("json patch diff: keyed elements are matched by key", "[patch]") {
  CHECK(difference(
            R"({"spec":{"containers":[{"name":"a"},{"name":"b","image":"1"},{"name":"c"}]}})"_j,
            R"({"spec":{"containers":[{"name":"n"},{"name":"b","image":"2"},{"name":"c"}]}})"_j) ==
        R"([{"op":"remove","path":"/spec/containers/0"},)"
        R"({"op":"add","path":"/spec/containers/0","value":{"name":"n"}},)"
        R"({"op":"replace","path":"/spec/containers/1/image","value":"2"}])");
}

TEST_CASE("json patch diff: a moved element is taken out and put in", "[patch]") {
  CHECK(difference(R"({"spec":{"containers":[{"name":"a"},{"name":"b"},{"name":"c"}]}})"_j,
                   R"({"spec":{"containers":[{"name":"b"},{"name":"c"},{"name":"a"}]}})"_j) ==
        R"([{"op":"remove","path":"/spec/containers/0"},)"
        R"({"op":"add","path":"/spec/containers/-","value":{"name":"a"}}])");
}

TEST_CASE("json patch diff: other lists share what their ends have in common", "[patch]") {
  CHECK(difference(R"({"args":["a","b"]})"_j, R"({"args":["a","x","b"]})"_j) ==
        R"([{"op":"add","path":"/args/1","value":"x"}])");
  CHECK(difference(R"({"args":["a","b","c"]})"_j, R"({"args":["a"]})"_j) ==
        R"([{"op":"remove","path":"/args/2"},{"op":"remove","path":"/args/1"}])");
  CHECK(difference(R"({"args":["a","b"]})"_j, R"({"args":["c"]})"_j) ==
        R"([{"op":"replace","path":"/args","value":["c"]}])");
}

TEST_CASE("json patch diff: another root replaces the document", "[patch]") {
  CHECK(difference(R"({"a":1})"_j, R"([1])"_j) == R"([{"op":"replace","path":"","value":[1]}])");
  CHECK(difference(R"({"a":1})"_j, R"({"a":1})"_j) == "[]");
}

TEST_CASE("merge patch: the examples of RFC 7386", "[patch]") {
  struct Case {
    const char* original;
    const char* patch;
    const char* result;
  };

  for (const Case& each : {
           Case{R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"},
           Case{R"({"a":"b"})", R"({"b":"c"})", R"({"a":"b","b":"c"})"},
           Case{R"({"a":"b"})", R"({"a":null})", R"({})"},
           Case{R"({"a":"b","b":"c"})", R"({"a":null})", R"({"b":"c"})"},
           Case{R"({"a":["b"]})", R"({"a":"c"})", R"({"a":"c"})"},
           Case{R"({"a":"c"})", R"({"a":["b"]})", R"({"a":["b"]})"},
           Case{R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}})"},
           Case{R"({"a":[{"b":"c"}]})", R"({"a":[1]})", R"({"a":[1]})"},
           Case{R"(["a","b"])", R"(["c","d"])", R"(["c","d"])"},
           Case{R"({"a":"b"})", R"(["c"])", R"(["c"])"},
           Case{R"({"a":"foo"})", R"(null)", R"(null)"},
           Case{R"({"a":"foo"})", R"("bar")", R"("bar")"},
           Case{R"({"e":null})", R"({"a":1})", R"({"e":null,"a":1})"},
           Case{R"([1,2])", R"({"a":"b","c":null})", R"({"a":"b"})"},
           Case{R"({})", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}})"},
       }) {
    INFO(each.original << " with " << each.patch);
    CHECK(shown(apply_merge_patch(base::read_json(each.original).value(),
                                  base::read_json(each.patch).value())) == each.result);
  }
}

}  // namespace
}  // namespace injector::patch
