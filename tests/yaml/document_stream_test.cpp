#include "yaml/document_stream.h"

#include <algorithm>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "base/json_text.h"
#include "yaml/yaml.h"

namespace injector::yaml {
namespace {

std::vector<RawDocument> split(const std::string& text) {
  std::istringstream in(text);
  DocumentStream stream(in);
  std::vector<RawDocument> documents;
  for (auto next = stream.next().value(); next; next = stream.next().value()) {
    documents.push_back(*std::move(next));
  }
  return documents;
}

std::vector<std::string> texts(const std::string& text) {
  std::vector<std::string> result;
  for (auto& document : split(text)) {
    result.push_back(std::move(document.text));
  }
  return result;
}

using Texts = std::vector<std::string>;

TEST_CASE("document stream: splits at --- lines and keeps every byte", "[codec]") {
  CHECK(texts("").empty());
  CHECK(texts("a: 1\n---\nb: 2\n") == Texts{"a: 1\n", "---\nb: 2\n"});
  CHECK(texts("a: 1\r\n---\r\nb: 2") == Texts{"a: 1\r\n", "---\r\nb: 2"});
  CHECK(texts("# c\n%YAML 1.1\n--- # d\na: 1\n") == Texts{"# c\n%YAML 1.1\n--- # d\na: 1\n"});
  CHECK(texts("--- {a: 1}\n--- [b]\n") == Texts{"--- {a: 1}\n", "--- [b]\n"});
  CHECK(texts("---\n---\n---") == Texts{"---\n", "---\n", "---"});
  CHECK(texts("\xEF\xBB\xBF---\na: 1\n---\nb: 2\n") ==
        Texts{"\xEF\xBB\xBF---\na: 1\n", "---\nb: 2\n"});
}

TEST_CASE("document stream: an end marker ends the document", "[codec]") {
  CHECK(texts("a: 1\n...\n# c\n---\nb: 2\n") == Texts{"a: 1\n...\n# c\n", "---\nb: 2\n"});
  CHECK(texts("a: 1\n...\nb: 2\n") == Texts{"a: 1\n...\n", "b: 2\n"});
  CHECK(texts("a: 1\n...\n%YAML 1.1\n---\nb: 2\n") ==
        Texts{"a: 1\n...\n", "%YAML 1.1\n---\nb: 2\n"});
}

TEST_CASE("document stream: --- inside a line or a block scalar is content", "[codec]") {
  CHECK(texts("a: |\n  ---\n  x\nb: a---\n---x: 1\n").size() == 1);
}

TEST_CASE("document stream: a document knows its first line", "[codec]") {
  const auto documents = split("a: 1\n\n---\nb:\n  - c: [\n");
  REQUIRE(documents.size() == 2);
  CHECK(documents[1].first_line == 3);
  const auto read = read_yaml(documents[1].text, documents[1].first_line);
  REQUIRE_FALSE(read.has_value());
  CHECK_THAT(read.error().message, Catch::StartsWith("line 5, "));
}

TEST_CASE("document stream: JSON objects one after another are documents", "[codec]") {
  const auto documents = split("\n {\"a\": \"}{\\\"\"}{\"b\": [{}]}\n{}\n");
  REQUIRE(documents.size() == 3);
  for (const auto& document : documents) {
    CHECK(document.json);
    CHECK(base::read_json(document.text).has_value());
  }
  CHECK(documents[0].text == "\n {\"a\": \"}{\\\"\"}");
  CHECK(documents[2].first_line == 3);
}

TEST_CASE("document stream: YAML may follow JSON, and braces alone are not JSON", "[codec]") {
  const auto mixed = split("{\"a\": 1}\n---\nb: 2\n");
  REQUIRE(mixed.size() == 2);
  CHECK(mixed[0].json);
  CHECK_FALSE(mixed[1].json);
  CHECK(mixed[1].text == "---\nb: 2\n");
  const auto flow = split("{a: 1}\n---\nb: 2\n");
  REQUIRE(flow.size() == 2);
  CHECK_FALSE(flow[0].json);
}

TEST_CASE("document stream: a document beyond the limit is an error that says so", "[codec]") {
  std::istringstream in("a: 1\n---\nb: " + std::string(200'000, 'x') + "\n");
  DocumentStream stream(in, 1'000);
  REQUIRE(stream.next().value()->text == "a: 1\n");
  for (int again = 0; again < 2; ++again) {
    const auto next = stream.next();
    REQUIRE_FALSE(next.has_value());
    CHECK(next.error().message == "the document that begins on line 2 is larger than 1000 bytes");
  }
}

TEST_CASE("document stream: a stream larger than the limit is fine in small documents", "[codec]") {
  std::string text;
  for (int i = 0; i < 30'000; ++i) {
    text += "---\na: 1\n";
  }
  std::istringstream in(text);
  DocumentStream stream(in, 9);
  int count = 0;
  while (stream.next().value()) {
    ++count;
  }
  CHECK(count == 30'000);
}

TEST_CASE("document stream: a broken stream is an error", "[codec]") {
  std::istringstream in("a: 1\n");
  in.setstate(std::ios::badbit);
  DocumentStream stream(in);
  CHECK_FALSE(stream.next().has_value());
}

TEST_CASE("document stream: the texts of any stream join to the stream", "[codec]") {
  const std::vector<std::string> parts{"---",    "...",   "\n",    "\r\n",  "\r",          " ",
                                       "a: 1\n", "# c\n", "%YAML", "{",     "}",           "\"",
                                       "\\",     "[",     "]",     "|\n",   "  x\n",       "'",
                                       "\xff",   "\t",    "{}",    "--- a", "\xEF\xBB\xBF"};
  std::mt19937 random(1);
  for (int round = 0; round < 5'000; ++round) {
    std::string text;
    for (auto i = random() % 20; i > 0; --i) {
      text += parts[random() % parts.size()];
    }
    std::string joined;
    std::size_t line = 1;
    for (const auto& document : split(text)) {
      REQUIRE(document.first_line == line);
      REQUIRE_FALSE(document.text.empty());
      line +=
          static_cast<std::size_t>(std::count(document.text.begin(), document.text.end(), '\n'));
      joined += document.text;
    }
    REQUIRE(joined == text);
  }
}

}  // namespace
}  // namespace injector::yaml
