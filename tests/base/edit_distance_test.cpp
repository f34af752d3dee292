#include "base/edit_distance.h"

#include <string_view>
#include <vector>

#include <catch2/catch.hpp>

namespace injector::base {
namespace {

TEST_CASE("edit distance: counts insertions, deletions, substitutions and swaps", "[base]") {
  REQUIRE(edit_distance("envoy", "envoy", 3) == 0);
  REQUIRE(edit_distance("envoy", "envy", 3) == 1);
  REQUIRE(edit_distance("envoy", "evnoy", 3) == 1);
  REQUIRE(edit_distance("envoy", "enboyy", 3) == 2);
  REQUIRE(edit_distance("", "abc", 3) == 3);
}

TEST_CASE("edit distance: says no more than limit plus one", "[base]") {
  REQUIRE(edit_distance("abc", "xyz", 1) == 2);
  REQUIRE(edit_distance("a", "abcdefgh", 2) == 3);
}

TEST_CASE("nearest: finds the typo's target and leaves strangers alone", "[base]") {
  const std::vector<std::string_view> known = {"volumeMounts", "imagePullPolicy", "env", "args"};
  REQUIRE(nearest("volumeMount", known) == "volumeMounts");
  REQUIRE(nearest("imagepullPolicy", known) == "imagePullPolicy");
  REQUIRE(nearest("arg", known) == "args");
  REQUIRE(nearest("sidecar", known).empty());
}

}  // namespace
}  // namespace injector::base
