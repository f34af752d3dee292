#include "kube/yaml.h"

#include <string>

#include <catch2/catch.hpp>

#include "kube/config.h"

namespace injector::kube {
namespace {

using base::Json;

std::string problem_of(const std::string& text) {
  const auto value = read_yaml(text);
  REQUIRE_FALSE(value.has_value());
  return value.error().message;
}

TEST_CASE("kubeconfig yaml: scalars mean what they mean to kubectl", "[kube]") {
  const auto value = read_yaml(
      "a: true\nb: 'true'\nc: yes\nd: ~\ne:\nf: 12\ng: '12'\nh: 1.5\ni: 1.2.3.4\nj: !!str 5\n"
      "k: |\n  two\n  lines\nl: LS0tLS1CRUdJTg==\nm: nan\nn: -7\n");
  REQUIRE(value.has_value());
  CHECK(value.value() == Json::parse(R"({"a":true,"b":"true","c":true,"d":null,"e":null,"f":12,
      "g":"12","h":1.5,"i":"1.2.3.4","j":"5","k":"two\nlines\n","l":"LS0tLS1CRUdJTg==","m":"nan",
      "n":-7})"));
}

TEST_CASE("kubeconfig yaml: nothing is null, and only the first document counts", "[kube]") {
  CHECK(read_yaml("").value().is_null());
  CHECK(read_yaml("# only a comment\n").value().is_null());
  CHECK(read_yaml("a: 1\n---\na: 2\n").value() == Json{{"a", 1}});
}

TEST_CASE("kubeconfig yaml: aliases and merge keys are filled in", "[kube]") {
  CHECK(read_yaml("a: &x {k: 1, l: 2}\nb: *x\nc: {<<: *x, k: 3}\n").value() ==
        Json::parse(R"({"a":{"k":1,"l":2},"b":{"k":1,"l":2},"c":{"k":3,"l":2}})"));
}

TEST_CASE("kubeconfig yaml: JSON is YAML, and the last of two equal keys counts", "[kube]") {
  CHECK(read_yaml(R"({"a": "b", "c": [1, null], "a": "d"})").value() ==
        Json::parse(R"({"a":"d","c":[1,null]})"));
}

TEST_CASE("kubeconfig yaml: an error names its line", "[kube]") {
  CHECK_THAT(problem_of("a: 1\nb: [2\n"), Catch::StartsWith("line "));
  CHECK_THAT(problem_of("a: 1\nb: *nobody\n"), Catch::StartsWith("line 2, column "));
  CHECK_THAT(problem_of("a: 1\n? [x]\n: 2\n"),
             Catch::StartsWith("line 2, column ") && Catch::Contains("a key must be a string"));
}

TEST_CASE("kubeconfig yaml: depth, size and aliases are bounded", "[kube]") {
  CHECK_THAT(problem_of(std::string(100, '[') + std::string(100, ']')), Catch::Contains("deeper"));
  CHECK_FALSE(read_yaml(std::string(100'000, '[')).has_value());
  CHECK_THAT(problem_of("a: &a [*a]\n"), Catch::Contains("deeper"));
  CHECK_THAT(problem_of(std::string(9'000'000, ' ')), Catch::Contains("larger"));
  std::string laughs = "a0: &a0 [x, x, x, x, x, x, x, x]\n";
  for (int level = 1; level < 12; ++level) {
    const std::string last = "*a" + std::to_string(level - 1);
    laughs += "a" + std::to_string(level) + ": &a" + std::to_string(level) + " [" + last + ", " +
              last + ", " + last + ", " + last + ", " + last + ", " + last + "]\n";
  }
  CHECK_THAT(problem_of(laughs), Catch::Contains("aliases make it too large"));
}

TEST_CASE("kubeconfig: an error of its YAML names file and line", "[kube]") {
  const auto config = read_kubeconfig("clusters:\n- name: a\n  cluster: [\n", "the/file", {});
  REQUIRE_FALSE(config.has_value());
  CHECK_THAT(config.error().message, Catch::StartsWith("the/file: line "));
}

}  // namespace
}  // namespace injector::kube
