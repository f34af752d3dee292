#include "yaml/edit.h"

#include <initializer_list>
#include <random>
#include <string>

#include <catch2/catch.hpp>

#include "base/json_text.h"
#include "yaml/json_marks.h"

namespace injector::yaml {
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

TEST_CASE("yaml edit: what would change another place is no answer", "[codec]") {
  const auto impossible = [](const std::string& text, const Json& after) {
    return !edited(text, after).has_value();
  };
  CHECK(impossible("l: &a\n- 1\nm: *a\n", Json({{"l", {1, 2}}, {"m", {1}}})));
  CHECK(impossible("l: &a [1]\nm: *a\n", Json({{"l", {1, 2}}, {"m", {1}}})));
  CHECK(
      impossible("b: &b {x: 1}\nm:\n  <<: *b\n", Json({{"b", {{"x", 1}}}, {"m", Json::object()}})));
  CHECK(impossible("a:\n  b: c\r", Json({{"a", {{"b", "c"}}}, {"d", 1}})));
}

// From `text` to `expected` by `after`, and back.
void check_edit(const std::string& text, const Json& after, const std::string& expected) {
  INFO(text);
  const auto there = edited(text, after);
  REQUIRE(there.has_value());
  CHECK(*there == expected);
  const auto back =
      edit_yaml(*there, read_yaml_with_marks(*there, 1, LastLine::Ended).value(), value_of(text));
  REQUIRE(back.has_value());
  CHECK(*back == text);
}

TEST_CASE("yaml edit: brackets in one line take more and give it back", "[codec]") {
  const Json list({{"l", {1, 2, "x:y"}}});
  check_edit("l: [1, 2]\n", list, "l: [1, 2, \"x:y\"]\n");
  check_edit("l: [1,2]  # c\n", list, "l: [1,2,\"x:y\"]  # c\n");
  check_edit("l: [ 1, 2 ]\n", list, "l: [ 1, 2, \"x:y\" ]\n");
  check_edit("l: [1, 2, ]\n", list, "l: [1, 2, \"x:y\", ]\n");
  check_edit("{l: [1, 2]}\n", list, "{l: [1, 2, \"x:y\"]}\n");
  const Json map({{"m", {{"a", 1}, {"b", {{"c", {true, nullptr}}}}}}});
  check_edit("m: {a: 1}\n", map, "m: {a: 1, b: {c: [true, null]}}\n");
  check_edit("m: { a: 1 } # c\n", map, "m: { a: 1, b: {c: [true, null]} } # c\n");
  check_edit("--- {m: {a: 1}}", map, "--- {m: {a: 1, b: {c: [true, null]}}}");
}

TEST_CASE("yaml edit: brackets over several lines keep their comments", "[codec]") {
  const Json after({{"m", {{"a", 1}, {"b", 2}, {"p", {{"x", 1}}}}}});
  check_edit("m: {\n  a: 1,  # one\n  b: 2   # two\n  # end\n}\n", after,
             "m: {\n  a: 1,  # one\n  b: 2,   # two\n  p: {\n    x: 1\n  }\n  # end\n}\n");
  check_edit("m: {\n  a: 1,\n  b: 2,  # two\n}\n", after,
             "m: {\n  a: 1,\n  b: 2,  # two\n  p: {\n    x: 1\n  },\n}\n");
  check_edit("m: {a: 1,\n    b: 2}\n", after,
             "m: {a: 1,\n    b: 2,\n    p: {\n      x: 1\n    }}\n");
  check_edit("m: {\r\n  a: 1,\r\n  b: 2\r\n}\r\n", after,
             "m: {\r\n  a: 1,\r\n  b: 2,\r\n  p: {\r\n    x: 1\r\n  }\r\n}\r\n");
}

TEST_CASE("yaml edit: empty brackets, null and nothing become blocks, and again what they were",
          "[codec]") {
  const Json list({{"l", {{{"name", "x"}}}}});
  check_edit("l: []\n", list, "l:\n- name: x\n");
  check_edit("l: []  # none\n", list, "l:  # none\n- name: x\n");
  check_edit("l:   []\n", list, "l:   # was []\n- name: x\n");
  check_edit("l: [ ]\n", list, "l: # was [ ]\n- name: x\n");
  check_edit("l: null # c\n", list, "l: # was null # c\n- name: x\n");
  check_edit("l: ~\n", list, "l: # was ~\n- name: x\n");
  check_edit("l:\n", list, "l:\n- name: x\n");
  check_edit("l: # c\n  # more\n\n", list, "l: # c\n- name: x\n  # more\n\n");
  check_edit("l: [\n  # none\n]\n", list, "l: [\n  # none\n  {\n    name: x\n  }\n]\n");
  check_edit("l: [\n]\n", list, "l: [{name: x}\n]\n");
  const Json map({{"m", {{"k", "v"}}}});
  check_edit("m: {}\n", map, "m:\n  k: v\n");
  check_edit("m:\n    # k: w\n", map, "m:\n  k: v\n    # k: w\n");
  check_edit("{m: {}}\n", map, "{m: {k: v}}\n");
  check_edit("{m: { }}\n", map, "{m: { k: v }}\n");
  check_edit("{m: null}\n", map, "{m: {k: v}}\n");
  check_edit("m: {}", map, "m:\n  k: v");
  check_edit("a:\n- m: []\n  p: 1\n", Json({{"a", {{{"m", {1}}, {"p", 1}}}}}),
             "a:\n- m:\n  - 1\n  p: 1\n");
}

TEST_CASE("yaml edit: a script at the end of a file keeps its newline and its bytes", "[codec]") {
  for (const std::string head : {"|", "|-", "|+", ">"}) {
    const std::string text = "m:\n  k: v\ns: " + head + "\n  run";
    const auto source = read_yaml_with_marks(text, 1, LastLine::Ended).value();
    Json after = source.value;
    after["t"] = 1;
    const auto there = edit_yaml(text, source, after);
    REQUIRE(there == text + "\nt: 1");
    const auto again = read_yaml_with_marks(*there, 1, LastLine::Ended).value();
    CHECK(edit_yaml(*there, again, source.value) == text);
  }
}

TEST_CASE("yaml edit: a kept line break and an anchor before a block are no obstacle", "[codec]") {
  check_edit("l:\n- |+\n  keep\n\nm: 1\n", Json({{"l", {"keep\n\n", 2}}, {"m", 1}}),
             "l:\n- |+\n  keep\n\n- 2\nm: 1\n");
  check_edit("m: &a\n  k: v\n", Json({{"m", {{"k", "v"}, {"p", 1}}}}), "m: &a\n  k: v\n  p: 1\n");
}

TEST_CASE("yaml edit: a scalar changes where it stands", "[codec]") {
  CHECK(edited("a: 1  # one\n", Json({{"a", "2"}})) == "a: \"2\"  # one\n");
  CHECK(edited("a: 'x'\nb: |\n  t\nc: 1\n", Json({{"a", "z"}, {"b", "u"}, {"c", 1}})) ==
        "a: z\nb: u\nc: 1\n");
  CHECK(edited("{a: [1, 2]}\n", Json({{"a", {1, "a, b"}}})) == "{a: [1, \"a, b\"]}\n");
}

Json with_sidecar(const Json& before) {
  Json after = before;
  after["l"].push_back(Json({{"name", "x"}, {"args", {1}}}));
  after["m"]["k/l"] = R"({"a":"b"})";
  return after;
}

void check_json(const std::string& text, const std::string& expected) {
  const auto source = read_json_with_marks(text).value();
  const auto there = edit_json(text, source, with_sidecar(source.value));
  REQUIRE(there.has_value());
  CHECK(*there == expected);
  const auto back = edit_json(*there, read_json_with_marks(*there).value(), source.value);
  CHECK(back == text);
}

TEST_CASE("json edit: indentation, spaces and the last newline stay as they were", "[codec]") {
  check_json(R"({"l":[{"name":"a"}],"m":{"b":"c"}})",
             R"({"l":[{"name":"a"},{"name":"x","args":[1]}],"m":{"b":"c","k/l":"{\"a\":\"b\"}"}})");
  check_json("{\"l\": [1, 2], \"m\": {}}\n",
             "{\"l\": [1, 2, {\"name\": \"x\", \"args\": [1]}], \"m\": {\"k/l\": "
             "\"{\\\"a\\\":\\\"b\\\"}\"}}\n");
  for (const std::string unit : {"  ", "    ", "\t", " "}) {
    const std::string two = unit + unit;
    const std::string three = two + unit;
    check_json("{\n" + unit + "\"m\": {},\n" + unit + "\"l\": [\n" + two + "1\n" + unit + "]\n}",
               "{\n" + unit + "\"m\": {\n" + two + "\"k/l\": \"{\\\"a\\\":\\\"b\\\"}\"\n" + unit +
                   "},\n" + unit + "\"l\": [\n" + two + "1,\n" + two + "{\n" + three +
                   "\"name\": \"x\",\n" + three + "\"args\": [\n" + three + unit + "1\n" + three +
                   "]\n" + two + "}\n" + unit + "]\n}");
  }
}

TEST_CASE("json edit: nulls, escapes in keys and a byte order mark", "[codec]") {
  const auto round_trip = [](const std::string& text, const Json& after) {
    const auto source = read_json_with_marks(text).value();
    const auto there = edit_json(text, source, after);
    REQUIRE(there.has_value());
    return edit_json(*there, read_json_with_marks(*there).value(), source.value) == text;
  };
  CHECK(round_trip("{\n  \"v\": null\n}\n", Json({{"v", {1}}})));
  CHECK(round_trip("{\"\\u00e9\\/~\": {\"a\": 1}}", Json({{"\xC3\xA9/~", {{"a", 1}, {"b", 2}}}})));
  CHECK(round_trip("\xEF\xBB\xBF{\"a\": 1}", Json({{"a", 1}, {"b", 2}})));
}

// A random document in a random mixture of styles.
class RandomText {
 public:
  explicit RandomText(unsigned seed)
      : random_(seed) {}

  std::string document() {
    std::string text = pick({"", "---\n", "# head\n"});
    for (const char* key : {"l", "m", "s"}) {
      text += key + (":" + block_value(key[0], 0));
    }
    if (random_() % 4 == 0 && text.ends_with('\n')) {
      text.pop_back();
    }
    return random_() % 3 == 0 ? flow_document() : text;
  }

 private:
  std::string pick(std::initializer_list<const char*> choices) {
    return *(choices.begin() + static_cast<std::ptrdiff_t>(random_() % choices.size()));
  }

  std::string block_value(char key, std::size_t indent) {
    const std::string pad(indent, ' ');
    switch (key) {
      case 'l':
        return pick({" []\n", "\n- a\n- b\n", " [a, b] # c\n", " [\n  a, # c\n  b\n]\n", " ~\n",
                     "\n  - x: 1\n    y: [ ]\n\n  # c\n  - |\n    t\n", "\n", " [ ]\n",
                     "  # c\n-   a\n"});
      case 'm':
        return pick({" {}\n", "\n  a: b # c\n", " {a: b}\n", " {\n  a: b,\n  c: {d: e}, # f\n}\n",
                     " null # c\n", "\n  # only a comment\n", "\n    a: >+\n      t\n\n",
                     " { a: \"x\" }\n"});
      default:
        return pick({" 1\n", " 'x'\n\n# end\n", " |\n  a\n\n", " |\n  # a\n  b\n", "\n"});
    }
  }

  std::string flow_document() {
    const std::string gap = pick({" ", "\n ", "\n  # c\n  "});
    return "{" + gap + "l: " + pick({"[]", "[1]", "[1,\n 2, ]", "[ { a: b } ]", "[\n  1\n ]"}) +
           "," + gap + "m: " + pick({"{}", "{a: 1}", "{\n a: 1 # c\n }", "{ }", "null"}) +
           pick({"", ",", "\n"}) + "}" + pick({"", "\n", " # c\n"});
  }

  std::mt19937 random_;
};

TEST_CASE("yaml edit: adding and taking back gives the bytes of any style", "[codec]") {
  for (unsigned seed = 0; seed < 3'000; ++seed) {
    const std::string text = RandomText(seed).document();
    INFO(text);
    const auto source = read_yaml_with_marks(text, 1, LastLine::Ended).value();
    const auto there = edit_yaml(text, source, with_sidecar(source.value));
    REQUIRE(there.has_value());
    INFO(*there);
    const auto again = read_yaml_with_marks(*there, 1, LastLine::Ended).value();
    const auto back = edit_yaml(*there, again, source.value);
    REQUIRE(back.has_value());
    CHECK(*back == text);
  }
}

TEST_CASE("yaml edit: an untouched anchor elsewhere does not matter", "[codec]") {
  const std::string text = "base: &b\n  k: v\nuse: *b\nl:\n- 1\n";
  Json after = value_of(text);
  after["l"].push_back(2);
  REQUIRE(edited(text, after) == text + "- 2\n");
}

}  // namespace
}  // namespace injector::yaml
