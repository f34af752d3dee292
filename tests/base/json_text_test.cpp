#include "base/json_text.h"

#include <string>

#include <catch2/catch.hpp>

namespace injector::base {
namespace {

TEST_CASE("json: a duplicate key keeps its place and takes the last value", "[codec]") {
  REQUIRE(write_json(read_json(R"({"a":1,"b":2,"a":3})").value()) == R"({"a":3,"b":2})");
}

TEST_CASE("json: an error names line and column", "[codec]") {
  const auto result = read_json("{\n  \"a\": x}");
  REQUIRE_FALSE(result.has_value());
  REQUIRE_THAT(result.error().message, Catch::StartsWith("line 2, column 8: "));
}

TEST_CASE("json: text nested 100,000 deep is an error", "[codec]") {
  for (const std::string open : {"[", "{\"a\":"}) {
    std::string text;
    for (int i = 0; i < 100'000; ++i) {
      text += open;
    }
    const auto result = read_json(text);
    REQUIRE_FALSE(result.has_value());
    REQUIRE_THAT(result.error().message, Catch::Contains("nested deeper than 512"));
  }
}

TEST_CASE("json: invalid UTF-8, NaN, huge exponents and trailing text are errors", "[codec]") {
  for (const char* text : {"\"\xff\"", "NaN", "1e999", "{} x", "", "{\"a\":1,}", "\"\\ud800\""}) {
    INFO(text);
    REQUIRE_FALSE(read_json(text).has_value());
  }
}

TEST_CASE("json: a large object keeps order and finds its duplicates", "[codec]") {
  std::string text = "{";
  for (int i = 0; i < 50'000; ++i) {
    text += "\"k" + std::to_string(i) + "\":0,";
  }
  const auto value = read_json(text + "\"k7\":1}").value();
  REQUIRE(value.size() == 50'000);
  REQUIRE(value.begin().key() == "k0");
  REQUIRE(*find(value, "k7") == 1);
}

}  // namespace
}  // namespace injector::base
