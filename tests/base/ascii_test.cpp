#include "base/ascii.h"

#include <catch2/catch.hpp>

namespace injector::base {
namespace {

TEST_CASE("ascii: only ASCII letters change their case", "[base]") {
  CHECK(to_lower("Content-TYPE 1\xc3\x84") == "content-type 1\xc3\x84");
  CHECK(same_ignoring_case("Envoy", "eNVOY"));
  CHECK_FALSE(same_ignoring_case("envoy", "envoys"));
  CHECK_FALSE(same_ignoring_case("[", "{"));  // As far apart as a letter and its capital.
}

TEST_CASE("ascii: trims both ends and nothing between", "[base]") {
  CHECK(trimmed(" \ta b\t ") == "a b");
  CHECK(trimmed("a\n") == "a\n");
  CHECK(trimmed("\r\n a\n", kBlanksAndBreaks) == "a");
  CHECK(trimmed(" \t ").empty());
  CHECK(trimmed("").empty());
}

}  // namespace
}  // namespace injector::base
