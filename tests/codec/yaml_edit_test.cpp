#include "codec/yaml_edit.h"

#include <string>

#include <catch2/catch.hpp>

#include "codec/json.h"

namespace injector::codec {
namespace {

using base::Json;

std::optional<std::string> edited(const std::string& text, const Json& after) {
  return edit_yaml(text, read_yaml_with_marks(text).value(), after);
}

Json value_of(const std::string& text) {
  return read_yaml(text).value().value;
}

// Appends to list "l", adds member "new" to mapping "m", and checks that undoing gives the text
// back.
void check_round_trip(const std::string& text, const std::string& expected) {
  const Json before = value_of(text);
  Json after = before;
  after["l"].push_back(Json({{"name", "x"}, {"args", {1, 2}}}));
  after["m"]["new"] = "v2";
  const auto there = edited(text, after);
  REQUIRE(there.has_value());
  CHECK(*there == expected);
  const auto back = edited(*there, before);
  REQUIRE(back.has_value());
  CHECK(*back == text);
}

TEST_CASE("yaml edit: appends behind the siblings and keeps every other byte", "[codec]") {
  check_round_trip(
      "# top\nl:   # the list\n  - name: a  # first\n\n  # between\n  - name: b\n\n# next\nm:\n  "
      "k: 'v'\n"
      "\n# end\n",
      "# top\nl:   # the list\n  - name: a  # first\n\n  # between\n  - name: b\n  - name: x\n    "
      "args:\n"
      "    - 1\n    - 2\n\n# next\nm:\n  k: 'v'\n  new: v2\n\n# end\n");
}

TEST_CASE("yaml edit: dashes may stand in their parent's column", "[codec]") {
  check_round_trip("l:\n- name: a\nm:\n  k: v\n",
                   "l:\n- name: a\n- name: x\n  args:\n  - 1\n  - 2\nm:\n  k: v\n  new: v2\n");
}

TEST_CASE("yaml edit: CRLF stays CRLF", "[codec]") {
  check_round_trip("l:\r\n- name: a\r\nm:\r\n  k: v\r\n",
                   "l:\r\n- name: a\r\n- name: x\r\n  args:\r\n  - 1\r\n  - 2\r\nm:\r\n  k: v\r\n"
                   "  new: v2\r\n");
}

TEST_CASE("yaml edit: a text without a last newline stays one", "[codec]") {
  check_round_trip("l:\n- name: a\nm:\n  k: v",
                   "l:\n- name: a\n- name: x\n  args:\n  - 1\n  - 2\nm:\n  k: v\n  new: v2");
  check_round_trip("m:\n  k: v\nl:\n- name: a",
                   "m:\n  k: v\n  new: v2\nl:\n- name: a\n- name: x\n  args:\n  - 1\n  - 2");
}

TEST_CASE("yaml edit: a block scalar may end in what looks like a comment", "[codec]") {
  check_round_trip("l:\n- |\n  echo\n  # done\nm:\n  k: v\n",
                   "l:\n- |\n  echo\n  # done\n- name: x\n  args:\n  - 1\n  - 2\nm:\n  k: v\n"
                   "  new: v2\n");
}

TEST_CASE("yaml edit: document markers and directives are left alone", "[codec]") {
  check_round_trip("---\nl:\n- a\nm:\n  k: v\n...\n",
                   "---\nl:\n- a\n- name: x\n  args:\n  - 1\n  - 2\nm:\n  k: v\n  new: v2\n...\n");
}

TEST_CASE("yaml edit: a new member of the parent comes behind the child's new element", "[codec]") {
  const std::string text = "spec:\n  l:\n  - name: a\n";
  Json after = value_of(text);
  after["spec"]["l"].push_back("b");
  after["spec"]["v"] = Json::array({1});
  const auto there = edited(text, after);
  REQUIRE(there == "spec:\n  l:\n  - name: a\n  - b\n  v:\n  - 1\n");
  REQUIRE(edited(*there, value_of(text)) == text);
}

TEST_CASE("yaml edit: an element in the middle can go", "[codec]") {
  const std::string text =
      "l:\n# one\n- name: a\n# two\n- name: b\n  x: |\n    t\n\n# three\n- name: c\n";
  Json after = value_of(text);
  after["l"].erase(1);
  REQUIRE(edited(text, after) == "l:\n# one\n- name: a\n# two\n\n# three\n- name: c\n");
}

TEST_CASE("yaml edit: what the style does not allow is no answer", "[codec]") {
  const auto impossible = [](const std::string& text, const Json& after) {
    return !edited(text, after).has_value();
  };
  CHECK(impossible("l: [1, 2]\n", Json({{"l", {1, 2, 3}}})));
  CHECK(impossible("l: []\n", Json({{"l", {1}}})));
  CHECK(impossible("l: &a\n- 1\nm: *a\n", Json({{"l", {1, 2}}, {"m", {1}}})));
  CHECK(impossible("a: 1\n", Json({{"a", 2}})));
  CHECK(impossible("a: 1\n", Json::object()));
  CHECK(impossible("{a: 1}\n", Json({{"a", 1}, {"b", 2}})));
  CHECK(impossible("--- a\n", Json("b")));
  CHECK(impossible("a:\n  b: c\r", Json({{"a", {{"b", "c"}}}, {"d", 1}})));
  CHECK(impossible("l:\n- |+\n  keep\n\nm: 1\n", Json({{"l", {"keep\n\n", 2}}, {"m", 1}})));
}

TEST_CASE("yaml edit: an untouched anchor elsewhere does not matter", "[codec]") {
  const std::string text = "base: &b\n  k: v\nuse: *b\nl:\n- 1\n";
  Json after = value_of(text);
  after["l"].push_back(2);
  REQUIRE(edited(text, after) == text + "- 2\n");
}

}  // namespace
}  // namespace injector::codec
