#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "base/json_text.h"
#include "yaml/yaml.h"

namespace injector::yaml {
namespace {

std::string json_of(const std::string& yaml) {
  const auto read = read_yaml(yaml);
  return read ? base::write_json(read.value().value) : read.error().message;
}

std::string error_of(const std::string& yaml) {
  const auto read = read_yaml(yaml);
  return read ? "no error: " + base::write_json(read.value().value) : read.error().message;
}

std::string repeat(const std::string& text, std::size_t times) {
  std::string result;
  result.reserve(text.size() * times);
  for (std::size_t i = 0; i < times; ++i) {
    result += text;
  }
  return result;
}

TEST_CASE("yaml reader: plain scalars have the types that go-yaml gives them", "[codec]") {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"0644", "420"},
      {"0o17", "15"},
      {"0X1f", "31"},
      {"-0x1F", "-31"},
      {"0b101", "5"},
      {"0b-11", "-3"},
      {"1_000", "1000"},
      {"_1", "\"_1\""},
      {"08", "8"},
      {"1e3", "1000"},
      {".5", "0.5"},
      {".5_0", "0.5"},
      {"._5", "\"._5\""},
      {"5.", "5"},
      {"+1", "1"},
      {"1.0", "1"},
      {"-0.0", "0"},
      {"6.42566538523096e+18", "6425665385230960000"},
      {"-6.42566538523096e+18", "-6425665385230960000"},
      {"1e19", "10000000000000000000"},
      {"1e400", "\"1e400\""},
      {"1e-400", "0"},
      {".", "\".\""},
      {"0x", "\"0x\""},
      {"9223372036854775808", "9223372036854775808"},
      {"18446744073709551616", "1.8446744073709552e+19"},
      {"-9223372036854775808", "-9223372036854775808"},
      {"0x1FFFFFFFFFFFFFFFF", "\"0x1FFFFFFFFFFFFFFFF\""},
      {"y", "true"},
      {"OFF", "false"},
      {"oFF", "\"oFF\""},
      {"Null", "null"},
      {"nUll", "\"nUll\""},
      {"2001-01-01", "\"2001-01-01\""},
      {"12:30:45", "\"12:30:45\""},
      {"<<", "\"<<\""},
      {"=", "\"=\""},
      {"100m", "\"100m\""},
      {"http://a:80/b#c", "\"http://a:80/b#c\""},
  };
  for (const auto& [text, json] : cases) {
    INFO(text);
    CHECK(json_of("k: " + text) == "{\"k\":" + json + "}");
    CHECK(json_of("k: '" + text + "'") == "{\"k\":\"" + text + "\"}");
  }
}

TEST_CASE("yaml reader: an explicit tag decides, and must fit", "[codec]") {
  CHECK(json_of("!!str 12") == "\"12\"");
  CHECK(json_of("!!int \"0x10\"") == "16");
  CHECK(json_of("!!float 3") == "3");
  CHECK(json_of("!!bool on") == "true");
  CHECK(json_of("!!null ''") == "null");
  CHECK(json_of("!!binary aGFsbG8=") == "\"hallo\"");
  CHECK(json_of("!!timestamp 2001-2-3") == "\"2001-2-3\"");
  CHECK(json_of("!mine 12") == "\"12\"");
  CHECK(json_of("a: !mine {b: 1}") == R"({"a":{"b":1}})");
  CHECK(json_of("!!str") == "\"\"");
  for (const char* text : {"!!int x", "!!bool 1", "!!null x", "!!float x", "!!timestamp 2001-02-30",
                           "!!binary a", "!!int ''"}) {
    INFO(text);
    CHECK_THAT(error_of(text), Catch::StartsWith("line 1, column 1: "));
  }
}

TEST_CASE("yaml reader: keys become text, and null, lists and maps cannot be one", "[codec]") {
  CHECK(json_of("{1: a, 1.5: b, yes: c, 0x10: d, 1e20: e}") ==
        R"({"1":"a","1.5":"b","true":"c","16":"d","1e+20":"e"})");
  CHECK_THAT(error_of("a: 1\n~: 2"), Catch::StartsWith("line 2, column 1: "));
  CHECK_THAT(error_of("? [a]\n: 2"), Catch::Contains("cannot be a key"));
  CHECK_THAT(error_of("18446744073709551615: 2"), Catch::Contains("cannot be a key"));
}

TEST_CASE("yaml reader: infinity and NaN are errors", "[codec]") {
  for (const char* text : {"a: .inf", "a: -.INF", "a: [.nan]", "a: !!float .Inf"}) {
    INFO(text);
    CHECK_THAT(error_of(text), Catch::Contains("no place in JSON"));
  }
  CHECK(json_of(".inf: 1") == R"({".inf":1})");
}

TEST_CASE("yaml reader: the last of a duplicate key wins, with a warning", "[codec]") {
  const auto read = read_yaml("a: 1\nb: 2\na: 3\n", 10).value();
  CHECK(base::write_json(read.value) == R"({"a":3,"b":2})");
  REQUIRE(read.warnings.size() == 1);
  CHECK(read.warnings[0].where.line == 12);
  CHECK(read.warnings[0].where.column == 1);
  CHECK(read.warnings[0].message == R"(duplicate key "a" (first on line 10): the last one wins)");
}

TEST_CASE("yaml reader: keys that become the same text are duplicates", "[codec]") {
  const auto read = read_yaml("true: 1\non: 2\n").value();
  CHECK(base::write_json(read.value) == R"({"true":2})");
  CHECK(read.warnings.size() == 1);
}

TEST_CASE("yaml reader: merge keys follow go-yaml's order", "[codec]") {
  const std::string base = "b: &b {x: 1, w: 2}\nc: &c {x: 3, z: 4}\n";
  CHECK(json_of(base + "m:\n  <<: *b\n  x: 9") ==
        R"({"b":{"x":1,"w":2},"c":{"x":3,"z":4},"m":{"x":9,"w":2}})");
  CHECK_THAT(json_of(base + "m:\n  <<: [*b, *c]"), Catch::EndsWith(R"("m":{"x":1,"z":4,"w":2}})"));
  CHECK(json_of("\"<<\": {a: 1}") == R"({"<<":{"a":1}})");
  for (const char* text : {"<<: 1", "<<:", "<<: [1]", "a: &a [1]\n<<: *a"}) {
    INFO(text);
    CHECK_THAT(error_of(text), Catch::Contains("merge key needs a map"));
  }
}

TEST_CASE("yaml reader: a merge key behind an explicit key wins, with a warning", "[codec]") {
  const auto read = read_yaml("b: &b {x: 1}\nm:\n  x: 9\n  <<: *b\n").value();
  CHECK(base::write_json(read.value) == R"({"b":{"x":1},"m":{"x":1}})");
  REQUIRE(read.warnings.size() == 1);
  CHECK(read.warnings[0].where.line == 4);
  CHECK(read.uses_aliases);
}

TEST_CASE("yaml reader: aliases copy, and an anchor may not contain itself", "[codec]") {
  CHECK(json_of("- &a {k: [1]}\n- *a\n- &a 2\n- *a") == R"([{"k":[1]},{"k":[1]},2,2])");
  CHECK(json_of("&k key: 1\nother: *k") == R"({"key":1,"other":"key"})");
  CHECK_THAT(error_of("&a [*a]"), Catch::Contains("contains itself"));
  CHECK_THAT(error_of("a: &a\n  <<: *a"), Catch::Contains("contains itself"));
  CHECK_THAT(error_of("- *nobody"), Catch::StartsWith("line 1, column 3: "));
  CHECK_FALSE(read_yaml("a: '*b'").value().uses_aliases);
}

TEST_CASE("yaml reader: block scalars keep, fold and chomp", "[codec]") {
  CHECK(json_of("|\n a\n  b\n\n c\n") == R"("a\n b\n\nc\n")");
  CHECK(json_of(">-\n a\n b\n\n c\n") == R"("a b\nc")");
  CHECK(json_of("k: |+\n  a\n\n") == R"({"k":"a\n\n"})");
  CHECK(json_of("k: |2\n    a\n") == R"({"k":"  a\n"})");
  CHECK(json_of("k: |\n  a") == R"({"k":"a"})");
}

TEST_CASE("yaml reader: a block scalar on a last line without newline", "[codec]") {
  const auto as_kubectl = [](const std::string& yaml) {
    return base::write_json(read_yaml(yaml, 1, LastLine::Ended).value().value);
  };
  CHECK(as_kubectl("k: |\n  a") == R"({"k":"a\n"})");
  CHECK(as_kubectl("k: |+\n  a") == R"({"k":"a\n"})");
  CHECK(as_kubectl("k: |-\n  a") == R"({"k":"a"})");
  CHECK(as_kubectl("k: >\n  a\n  b") == R"({"k":"a b\n"})");
  CHECK(as_kubectl("k: |\n  a\n") == R"({"k":"a\n"})");
  CHECK(as_kubectl("k: v") == R"({"k":"v"})");
}

TEST_CASE("yaml reader: folding keeps, strips and joins as go-yaml does", "[codec]") {
  CHECK(json_of("k: >+\n  a\n\n\nl: 1\n") == R"({"k":"a\n\n\n","l":1})");
  CHECK(json_of("k: >\n  a\n   b\n  c\n") == R"({"k":"a\n b\nc\n"})");
  CHECK(json_of("k: >-\n  a\n  ") == R"({"k":"a"})");
  CHECK(json_of("k: '\n\n  '\n") == R"({"k":"\n"})");
  CHECK(json_of("k: \"a\n\n\n  \"\n") == R"({"k":"a\n\n"})");
  CHECK(json_of("k: \"a \\\n   b\\\n   \\ c\"\n") == R"({"k":"a b c"})");
  CHECK(json_of("k: a\n  b\n\n  c\n") == R"({"k":"a b\nc"})");
}

TEST_CASE("yaml reader: escapes are go-yaml's, which has none for a slash", "[codec]") {
  CHECK(json_of(R"(k: "\_\N\L\P\x41\u00e9\U0001F600\e\0")") ==
        json_of("k: \"\xC2\xA0\\u0085\\u2028\\u2029A\xC3\xA9\xF0\x9F\x98\x80\\x1B\\x00\""));
  CHECK_THAT(error_of(R"(k: "a\/b")"), Catch::Equals("line 1, column 6: unknown escape in double "
                                                     "quotes"));
  CHECK_THAT(error_of(R"(k: "\x4g")"), Catch::Contains("hexadecimal digit"));
}

TEST_CASE("yaml reader: anchors and tags stand before any kind of value", "[codec]") {
  CHECK(json_of("- &s |\n  run\n- *s\n- !!str |\n  5\n") == R"(["run\n","run\n","5\n"])");
  CHECK(json_of("k: &a:b c") == R"({"k":":b c"})");
  CHECK(json_of("k: &a !!str\nl: *a") == R"({"k":"","l":""})");
  CHECK(json_of("%TAG !e! tag:yaml.org,2002:\n---\nk: !e!str 5") == R"({"k":"5"})");
  CHECK_THAT(error_of("k: !x!y z"), Catch::Contains("no %TAG line defines !x!"));
  CHECK_THAT(error_of("k: {a: '', &b: c}"), Catch::Contains("null cannot be a key"));
}

TEST_CASE("yaml reader: colons, question marks and line breaks in brackets", "[codec]") {
  CHECK(json_of("[10.0.0.1, fd00::, a:b]") == R"(["10.0.0.1","fd00::","a:b"])");
  CHECK(json_of("{ip: fd00::}") == R"({"ip":"fd00::"})");
  CHECK(json_of("{\"two\n lines\", x: z}") == R"({"two lines":null,"x":"z"})");
  CHECK(json_of("{ # c\n  a # c\n}") == R"({"a":null})");
  CHECK(json_of("[?x]") == R"([{"x":null}])");
  CHECK(json_of("{a:}") == R"({"a:":null})");
  CHECK_THAT(error_of("[:x]"), Catch::Contains("expected a value"));
  CHECK_THAT(error_of("- 'q'\n\t\n- x\n"), Catch::StartsWith("line 2, column 1: found a tab"));
}

TEST_CASE("yaml reader: reads the first document of several, and null where there is none",
          "[codec]") {
  CHECK(json_of("--- # first\na: 1\n...\n---\n[\n") == R"({"a":1})");
  CHECK(json_of("%YAML 1.1\n%TAG ! tag:x,1:\n---\na: !b c") == R"({"a":"c"})");
  CHECK(json_of("# only a comment") == "null");
  CHECK(json_of("---\n---\na: 1\n") == "null");
  CHECK(json_of("--- text\n---\n") == "\"text\"");
}

TEST_CASE("yaml reader: a byte order mark and CRLF are not content", "[codec]") {
  CHECK(json_of("\xEF\xBB\xBF"
                "a: 1\r\nb: |\r\n  x\r\n  y\r\nc: [1,\r\n 2]\r\n") ==
        R"({"a":1,"b":"x\ny\n","c":[1,2]})");
  CHECK(json_of("a: 0644\r") == R"({"a":420})");
}

TEST_CASE("yaml reader: refuses what go-yaml refuses, and says where", "[codec]") {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"a:\n\t- b\n", "line 2, column 1: "},
      {"a: 1\n\t# c\nb: 2", "line 2, column 1: "},
      {"a:\n  -\tb\n", "line 2, column 4: "},
      {"a: [1, 2\n", "line 1, column 4: "},
      {"a: {b: 1\n", "line 1, column 4: "},
      {"a: \"b\nc: 1\n", "line 1, column 4: "},
      {"a: 'b\n---\n'", "line 1, column 4: "},
      {"a: 1\nb\nc: 2\n", "line 2, column 1: "},
      {"a: 1\nb\n", "line 2, column 1: "},
      {"a: b: c\n", "line 1, column 5: "},
      {"a:\n\"b\"\n", "line 2, column 1: "},
      {"- a\nb: 1\n", "line 2, column 1: "},
      {"a: @b", "line 1, column 4: "},
      {"a: `b", "line 1, column 4: "},
      {"a: %b", "line 1, column 4: "},
      {"a: [1,, 2]", "line 1, column 7: "},
      {"a: 1\n%b\n", "line 2, column 1: "},
      {"%YAML 1.2\n---\na: 1", "line 1, column 1: "},
      {"%FOO\n---\na: 1", "line 1, column 1: "},
      {"%YAML 1.1\na: 1", "line 2, column 1: "},
      {"a: !!s\"t\"", "line 1, column 7: "},
      {"a: |\n \tb", "line 2, column 2: "},
      {"...\na: 1", "line 1, column 1: "},
      {std::string("a: \0", 4), "line 1, column 4: "},
      {"a: \x04", "line 1, column 4: "},
      {"a: b\x7F", "line 1, column 5: "},
      {"a: \"\\ud800\"", "line 1, column "},
      {"a: \xff", "line 1, column 4: invalid UTF-8"},
      {"a: \xc0\x80", "line 1, column 4: invalid UTF-8"},
      {"a: \xed\xa0\x80", "line 1, column 4: invalid UTF-8"},
      {"a: \xe2\x82", "line 1, column 4: invalid UTF-8"},
  };
  for (const auto& [text, error] : cases) {
    INFO(text);
    CHECK_THAT(error_of(text), Catch::StartsWith(error));
  }
}

TEST_CASE("yaml reader: accepts the harmless neighbours of what it refuses", "[codec]") {
  CHECK(json_of("a:\tb\nc: 'x\n\ty'\n") == R"({"a":"b","c":"x y"})");
  CHECK(json_of("a: |\n  x\n  \t\nb: 1") == R"({"a":"x\n\t\n","b":1})");
  CHECK(json_of("{\n\t\"a\": 1\n}") == R"({"a":1})");
  CHECK(json_of("? a\n? b\n: c") == R"({"a":null,"b":"c"})");
  CHECK(json_of("{a, b}") == R"({"a":null,"b":null})");
  CHECK(json_of("a: &x\n- 1\nb: !!seq\n- *x") == R"({"a":[1],"b":[[1]]})");
  CHECK(json_of("a: 100%\nb: x@y\nc: it's") == R"({"a":"100%","b":"x@y","c":"it's"})");
}

TEST_CASE("yaml reader: text behind a document in braces is ignored with a warning", "[codec]") {
  const auto read = read_yaml("{\"a\": 1} b\n").value();
  CHECK(base::write_json(read.value) == R"({"a":1})");
  REQUIRE(read.warnings.size() == 1);
  CHECK_THAT(read.warnings[0].message, Catch::Contains("ignored"));
  CHECK_THAT(error_of("'a' b"), Catch::Contains("end of the document"));
}

TEST_CASE("yaml reader: text nested 100,000 deep is an error", "[codec]") {
  for (const std::string open : {"[", "{a: ", "- ", "? ", "[{a: ", "- a: "}) {
    INFO(open);
    CHECK_FALSE(read_yaml(repeat(open, 100'000)).has_value());
  }
  std::string steps;
  for (std::size_t i = 0; i < 2'000; ++i) {
    steps += std::string(i, ' ') + "a:\n";
  }
  CHECK_FALSE(read_yaml(steps).has_value());
  CHECK(read_yaml(repeat("[", 400) + repeat("]", 400)).has_value());
}

TEST_CASE("yaml reader: aliases cannot nest deeper than text", "[codec]") {
  std::string text = "- &a0 " + repeat("[", 300) + repeat("]", 300) + "\n";
  text += "- &a1 " + repeat("[", 300) + "*a0" + repeat("]", 300) + "\n";
  CHECK_THAT(error_of(text), Catch::Contains("nested deeper than 512"));
}

TEST_CASE("yaml reader: a billion laughs are an error", "[codec]") {
  std::string laughs = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string alias = "*a" + std::to_string(i - 1);
    laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + alias +
              repeat(", " + alias, 8) + "]\n";
  }
  CHECK_THAT(error_of(laughs), Catch::Contains("excessive aliasing"));
  const std::string large = "- &a " + std::string(1'000'000, 'x') + "\n" + repeat("- *a\n", 90);
  CHECK_THAT(error_of(large), Catch::Contains("excessive aliasing"));
  CHECK(read_yaml("- &a [1, 2, 3]\n" + repeat("- *a\n", 90)).has_value());
}

TEST_CASE("yaml reader: megabytes of garbage end in an answer", "[codec]") {
  for (const std::string part : {"a", "\"a\n", "- &a x\n", "!!str ", "[],", "? a\n", "#", "\n", " ",
                                 "'", "&", "%", ": ", "a: ", "|\n", "}", "- - "}) {
    INFO(part);
    const auto read = read_yaml(repeat(part, 1'000'000 / part.size()));
    CHECK((read.has_value() || read.error().message.starts_with("line ")));
  }
  CHECK_FALSE(read_yaml(std::string(5'000'000, '\xff')).has_value());
  CHECK_FALSE(read_yaml("&" + std::string(5'000'000, 'a') + " [").has_value());
}

TEST_CASE("yaml reader: a large map keeps order and finds its duplicates", "[codec]") {
  std::string text;
  for (int i = 0; i < 20'000; ++i) {
    text += "k" + std::to_string(i) + ": 0\n";
  }
  const auto read = read_yaml(text + "k7: 1\n").value();
  CHECK(read.value.size() == 20'000);
  CHECK(read.value.begin().key() == "k0");
  CHECK(*base::find(read.value, "k7") == 1);
  CHECK(read.warnings.size() == 1);
}

TEST_CASE("yaml marks: a pointer leads to line, column and byte of key and value", "[codec]") {
  const std::string text = "# c\ncontainers:\n- name: é\n  image: x\nlist: [1, {a~/b: 2}]\n";
  const auto source = read_yaml_with_marks(text, 100).value();
  const YamlNode* image = source.node("/containers/0/image");
  REQUIRE(image != nullptr);
  CHECK(image->key.line == 103);
  CHECK(image->key.column == 3);
  CHECK(image->value.column == 10);
  CHECK(text.substr(image->key_offset, 8) == "image: x");
  CHECK(text[image->value_offset] == 'x');
  REQUIRE(source.node("/containers") != nullptr);
  CHECK_FALSE(source.node("/containers")->flow);
  CHECK(text[source.node("/containers")->value_offset] == '-');
  CHECK(source.node("/list")->flow);
  CHECK(text[source.node("/list/1/a~0~1b")->value_offset] == '2');
  CHECK(source.node("")->value.line == 101);
  CHECK(source.node("/nothing") == nullptr);
}

TEST_CASE("yaml marks: offsets count a byte order mark and carriage returns", "[codec]") {
  const std::string text =
      "\xEF\xBB\xBF"
      "a: 1\r\nb:\r\n  c: d\r\n";
  const auto source = read_yaml_with_marks(text).value();
  CHECK(text[source.node("/b/c")->value_offset] == 'd');
  CHECK(source.node("/b/c")->value.line == 3);
}

TEST_CASE("yaml marks: aliases and merge keys mark all that contains them", "[codec]") {
  const auto source =
      read_yaml_with_marks("a: {b: &x {c: 1}}\nd: {e: *x}\nf: {<<: *x, g: 1}\nh: {i: 1}\n").value();
  for (const char* pointer : {"", "/a", "/a/b", "/d", "/d/e", "/f"}) {
    INFO(pointer);
    CHECK(source.node(pointer)->aliased);
  }
  for (const char* pointer : {"/a/b/c", "/f/g", "/h", "/h/i"}) {
    INFO(pointer);
    CHECK_FALSE(source.node(pointer)->aliased);
  }
  CHECK(source.node("/d/e/c") == nullptr);
  CHECK(source.node("/f/c") == nullptr);
}

TEST_CASE("yaml marks: a key that comes again replaces what stood under it", "[codec]") {
  const auto source = read_yaml_with_marks("a: {b: 1}\na: {c: 2}\n").value();
  CHECK(source.node("/a/b") == nullptr);
  REQUIRE(source.node("/a/c") != nullptr);
  CHECK(source.node("/a")->value.line == 2);
}

TEST_CASE("yaml marks: an absent value stands behind its colon", "[codec]") {
  const auto source = read_yaml_with_marks("a:   # later\n'b' :\nc: 1\n").value();
  CHECK(source.node("/a")->value_offset == 2);
  CHECK(source.node("/b")->value.line == 2);
  CHECK(source.node("/b")->value.column == 6);
}

}  // namespace
}  // namespace injector::yaml
