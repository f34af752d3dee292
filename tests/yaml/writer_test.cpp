#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "base/json_text.h"
#include "yaml/yaml.h"

namespace injector::yaml {
namespace {

using base::Json;

std::string yaml_of(const std::string& json) {
  return write_yaml(base::read_json(json).value());
}

// Values of all kinds, with the strings that are hardest to write.
class Generator {
 public:
  explicit Generator(unsigned seed)
      : random_(seed) {}

  Json value(int depth) {
    switch (below(depth > 0 ? 9 : 7)) {
      case 0:
        return nullptr;
      case 1:
        return below(2) == 0;
      case 2:
        return static_cast<std::int64_t>(random_()) - (std::int64_t{1} << 31);
      case 3:
        return static_cast<double>(below(100'000)) + 0.3;
      case 4:
        return std::uint64_t{18446744073709551615U} - below(5);
      case 5:
      case 6:
        return text();
      case 7:
        return list(depth);
      default:
        return object(depth);
    }
  }

  Json object(int depth) {
    Json result = Json::object();
    for (unsigned i = below(5); i > 0; --i) {
      result[text()] = value(depth - 1);
    }
    return result;
  }

  std::string text() {
    static const std::vector<std::string> kParts{"a",
                                                 "b c",
                                                 " ",
                                                 "\n",
                                                 "\n\n",
                                                 "\t",
                                                 "\r",
                                                 ":",
                                                 ": ",
                                                 "#",
                                                 " #",
                                                 "-",
                                                 "- ",
                                                 "'",
                                                 "\"",
                                                 "\\",
                                                 "{",
                                                 "}",
                                                 "[",
                                                 "]",
                                                 ",",
                                                 "&",
                                                 "*",
                                                 "!",
                                                 "|",
                                                 ">",
                                                 "%",
                                                 "@",
                                                 "`",
                                                 "?",
                                                 "? ",
                                                 "=",
                                                 "<<",
                                                 "~",
                                                 "yes",
                                                 "null",
                                                 "0",
                                                 "1e3",
                                                 "0x1F",
                                                 "1_0",
                                                 ".5",
                                                 ".inf",
                                                 "---",
                                                 "...",
                                                 "é",
                                                 "日",
                                                 "😀",
                                                 "\x7F",
                                                 "\1",
                                                 "12:30",
                                                 "2001-01-01",
                                                 "\xC2\x85",
                                                 "\xE2\x80\xA8",
                                                 "\xEF\xBB\xBF",
                                                 "\xEF\xBF\xBF"};
    if (below(40) == 0) {
      return std::string(below(3000), 'k');
    }
    std::string result;
    for (unsigned i = below(5); i > 0; --i) {
      result += kParts[below(static_cast<unsigned>(kParts.size()))];
    }
    return result;
  }

 private:
  unsigned below(unsigned limit) { return static_cast<unsigned>(random_() % limit); }

  Json list(int depth) {
    Json result = Json::array();
    for (unsigned i = below(5); i > 0; --i) {
      result.push_back(value(depth - 1));
    }
    return result;
  }

  std::mt19937 random_;
};

bool has_trailing_space(const std::string& text) {
  return text.find(" \n") != std::string::npos;
}

TEST_CASE("yaml writer: prints objects and lists as kubectl does", "[codec]") {
  CHECK(yaml_of(R"({"kind":"Pod","spec":{"containers":[{"name":"a","args":["--x","-y 1"]},
                   {"name":"b","ports":[]}],"nodeSelector":{}},"l":[[1,2],[{"k":null}]]})") ==
        R"(kind: Pod
spec:
  containers:
  - name: a
    args:
    - --x
    - -y 1
  - name: b
    ports: []
  nodeSelector: {}
l:
- - 1
  - 2
- - k: null
)");
}

TEST_CASE("yaml writer: quotes text that would be read as something else", "[codec]") {
  for (const char* text :
       {"",     "1",  "0644", "1e3", "1_000", "0x1F",  ".5",         "yes", "Off",  "y",
        "null", "~",  ".inf", "<<",  "=",     "- a",   "-",          "? a", "a: b", "a #b",
        "#a",   "a:", "[a",   "{a",  "&a",    "*a",    "!a",         "|a",  ">a",   "'a",
        "%a",   "@a", "`a",   " a",  "a ",    "12:30", "2001-01-01", "---", "..."}) {
    INFO(text);
    CHECK_THAT("\"'", Catch::Contains(write_yaml(Json(text)).substr(0, 1)));
    CHECK_THAT("\"'", Catch::Contains(write_yaml(Json::object({{text, 1}})).substr(0, 1)));
  }
  CHECK(write_yaml(Json("true")) == "\"true\"\n");
  CHECK(write_yaml(Json("{a: b}")) == "'{a: b}'\n");
  CHECK(write_yaml(Json("\"a")) == "'\"a'\n");
  CHECK(write_yaml(Json("it's #1")) == "'it''s #1'\n");
}

TEST_CASE("yaml writer: leaves ordinary text alone", "[codec]") {
  for (const char* text : {"nginx:1.25", "100m", "10.0.0.1", "http://a:80/b?c=d#e", "it's", "a, b",
                           "--flag=1", "app.kubernetes.io/name", "日本", "a b c"}) {
    CHECK(write_yaml(Json(text)) == std::string(text) + "\n");
  }
}

TEST_CASE("yaml writer: text of several lines is a block scalar where it can be", "[codec]") {
  CHECK(yaml_of(R"({"a":"x\ny\n"})") == "a: |\n  x\n  y\n");
  CHECK(yaml_of(R"({"a":"x\n\ny"})") == "a: |-\n  x\n\n  y\n");
  CHECK(yaml_of(R"({"a":"x\n\n"})") == "a: |+\n  x\n\n");
  CHECK(yaml_of(R"({"a":["  x\ny\n"]})") == "a:\n- |2\n    x\n  y\n");
  CHECK(yaml_of(R"({"a":"x \ny"})") == "a: \"x \\ny\"\n");
  CHECK(yaml_of(R"({"a":"x\r\ny"})") == "a: \"x\\r\\ny\"\n");
  CHECK(yaml_of(R"({"a":"\n"})") == "a: \"\\n\"\n");
}

TEST_CASE("yaml writer: a long line is not folded and a long key stays a key", "[codec]") {
  const Json value = Json::object({{std::string(5'000, 'k'), {1, std::string(5'000, ' ') + "v"}}});
  CHECK(base::same(read_yaml(write_yaml(value)).value().value, value));
}

TEST_CASE("yaml writer: control characters and invalid UTF-8 are escaped", "[codec]") {
  CHECK(write_yaml(Json(std::string("\0\x1b\x7f", 3))) == "\"\\u0000\\u001b\\u007f\"\n");
  CHECK(write_yaml(Json("\xC2\x85\xE2\x80\xA8\xEF\xBB\xBF")) == "\"\\u0085\\u2028\\ufeff\"\n");
  CHECK(write_yaml(Json("\xff")) == "\"\xEF\xBF\xBD\"\n");
}

TEST_CASE("yaml writer: indents every line", "[codec]") {
  CHECK(write_yaml(base::read_json(R"({"a":[1],"b":"x\ny\n"})").value(), 4) ==
        "    a:\n    - 1\n    b: |\n      x\n      y\n");
}

TEST_CASE("yaml writer: what it writes reads back as the same value in the same order", "[codec]") {
  for (unsigned seed = 0; seed < 3'000; ++seed) {
    const Json value = Generator(seed).value(5);
    const std::string text = write_yaml(value);
    INFO("seed " << seed << '\n' << text);
    const auto read = read_yaml(text);
    INFO((read ? "read" : read.error().message));
    REQUIRE(read.has_value());
    REQUIRE(base::write_json(read.value().value) == base::write_json(value));
    REQUIRE(read.value().warnings.empty());
    REQUIRE_FALSE(has_trailing_space(text));
    REQUIRE(text.back() == '\n');
  }
}

TEST_CASE("yaml writer: nesting up to the reader's limit reads back", "[codec]") {
  Json value = "x";
  for (int i = 0; i < 200; ++i) {
    value = i % 2 == 0 ? Json::array({std::move(value)}) : Json::object({{"k", std::move(value)}});
  }
  CHECK(base::same(read_yaml(write_yaml(value)).value().value, value));
}

}  // namespace
}  // namespace injector::yaml
