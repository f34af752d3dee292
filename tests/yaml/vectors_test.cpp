#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "base/json_text.h"
#include "tests/support/paths.h"
#include "yaml/yaml.h"

namespace injector::yaml {
namespace {

using base::Json;

// The project's own vectors, and the files that YAML_VECTORS names, separated by colons.
std::vector<std::string> vector_files() {
  std::vector<std::string> files{std::string(tests::kTestData) + "/vectors/yaml-to-json.jsonl"};
  const char* more = std::getenv("YAML_VECTORS");
  std::string rest = more == nullptr ? "" : more;
  while (!rest.empty()) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    files.push_back(rest.substr(0, colon));
    rest.erase(0, colon + 1);
  }
  return files;
}

std::vector<Json> read_vectors(const std::string& file) {
  std::ifstream in(file);
  INFO(file);
  REQUIRE(in.good());
  std::vector<Json> vectors;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty()) {
      vectors.push_back(base::read_json(line).value());
    }
  }
  REQUIRE_FALSE(vectors.empty());
  return vectors;
}

// docs/yaml.md: text behind the end of the document, which go-yaml drops without a word, is an
// error here.
bool is_dropped_text(const base::Result<YamlDocument>& read) {
  return !read &&
         (read.error().message.find("expected the end of the document") != std::string::npos ||
          read.error().message.find("a directive in the middle") != std::string::npos);
}

TEST_CASE("yaml reader: the vectors of Kubernetes' own code give the same JSON or an error",
          "[yaml]") {
  CHECK(read_vectors(vector_files().front()).size() == 24);
  for (const auto& file : vector_files()) {
    for (const auto& vector : read_vectors(file)) {
      INFO(file << ' ' << base::text_of(base::find(vector, "id")) << '\n'
                << base::text_of(base::find(vector, "yaml")));
      const auto read = read_yaml(base::text_of(base::find(vector, "yaml")));
      if (base::find(vector, "error") != nullptr) {
        CHECK_FALSE(read.has_value());
        continue;
      }
      INFO((read ? base::write_json(read.value().value) : read.error().message));
      CHECK((is_dropped_text(read) ||
             (read && base::same(read.value().value, *base::find(vector, "json")))));
    }
  }
}

TEST_CASE("yaml writer: what the vectors hold reads back as the same value", "[yaml]") {
  for (const auto& file : vector_files()) {
    for (const auto& vector : read_vectors(file)) {
      if (const Json* json = base::find(vector, "json")) {
        const std::string text = write_yaml(*json);
        INFO(text);
        CHECK(base::same(read_yaml(text).value().value, *json));
      }
    }
  }
}

}  // namespace
}  // namespace injector::yaml
