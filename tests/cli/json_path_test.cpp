#include "cli/json_path.h"

#include <string>

#include <catch2/catch.hpp>

#include "base/json_text.h"

namespace injector::cli {
namespace {

const base::Json& document() {
  static const base::Json value = base::read_json(R"({"pods": [
    {"name": "a", "labels": {"app.io/x": "1"}, "n": 1},
    {"name": "b", "labels": {"app.io/x": "2"}, "n": null, "list": [1, {"k": "v"}]}]})")
                                      .value();
  return value;
}

std::string print(const std::string& text) {
  const auto path = JsonPath::parse(text);
  return path ? path.value().print(document()) : "error: " + path.error().message;
}

TEST_CASE("json path: fields, elements and keys as kubectl prints them", "[cli]") {
  CHECK(print("{.pods[*].name}") == "a b");
  CHECK(print("{.pods[0].name}") == "a");
  CHECK(print("{.pods[-1].name}") == "b");
  CHECK(print("{$.pods[0]['name']}") == "a");
  CHECK(print("{.pods[*].labels['app.io/x']}") == "1 2");
  CHECK(print(R"({.pods[0].labels.app\.io/x})") == "1");
  CHECK(print("{.pods[1].list}") == R"([1,{"k":"v"}])");
  CHECK(print("{.pods[0].n}") == "1");
  CHECK(print("{.pods[9].name}{.none}").empty());
}

TEST_CASE("json path: ranges and texts", "[cli]") {
  CHECK(print(R"({range .pods[*]}{.name}{"\t"}{.n}{"\n"}{end})") == "a\t1\nb\tnull\n");
  CHECK(print("all: {.pods[*].name}!") == "all: a b!");
  CHECK(print(R"({range .pods[*]}[{range .list[*]}x{end}]{end})") == "[][xx]");
  CHECK(print(R"({"}"})") == "}");
}

TEST_CASE("json path: what is not supported is named", "[cli]") {
  CHECK_THAT(print("{..name}"), Catch::Contains("recursive descent"));
  CHECK_THAT(print("{.pods[?(@.n==1)].name}"), Catch::Contains("[?(@.n==1)]"));
  CHECK_THAT(print("{.pods[0:1]}"), Catch::Contains("[0:1]"));
  CHECK_THAT(print("{.pods"), Catch::Contains("not closed"));
  CHECK_THAT(print("{range .pods[*]}"), Catch::Contains("without {end}"));
  CHECK_THAT(print("{end}"), Catch::Contains("without {range}"));
  CHECK_THAT(print("{pods}"), Catch::Contains("without a dot"));
}

}  // namespace
}  // namespace injector::cli
