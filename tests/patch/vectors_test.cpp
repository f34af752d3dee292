// What Kubernetes' own Go code answered, case by case. SMP_VECTORS names more files (separated by
// colons), so that the engine can be held against cases it has never seen.

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "base/json.h"
#include "base/json_text.h"
#include "patch/strategic_merge.h"
#include "tests/support/paths.h"

namespace injector::patch {
namespace {

using base::Json;
using base::Result;

std::vector<std::string> files_in(const char* list) {
  std::vector<std::string> files;
  std::istringstream names(list == nullptr ? "" : list);
  for (std::string name; std::getline(names, name, ':');) {
    if (!name.empty()) {
      files.push_back(name);
    }
  }
  return files;
}

void compare(const std::string& what, const Result<Json>& got, const Json& vector,
             const std::string& member) {
  if (base::find(vector, "error") != nullptr) {
    INFO(what << ": expected an error");
    CHECK_FALSE(got.has_value());
    return;
  }
  const Json* expected = base::find(vector, member);
  REQUIRE(expected != nullptr);
  if (!got) {
    FAIL_CHECK(what << ": failed with " << got.error().message << "\nexpected "
                    << base::write_json(*expected));
  } else if (!base::same(got.value(), *expected)) {
    FAIL_CHECK(what << ":\ngot      " << base::write_json(got.value()) << "\nexpected "
                    << base::write_json(*expected));
  }
}

void check_diff(const Json& vector, const std::string& id, const Schema& schema) {
  const Json& original = vector.at("original");
  const Result<Json> patch = two_way_merge_patch(original, vector.at("modified"), schema);
  compare(id + " diff", patch, vector, "patch");
  if (vector.contains("patch") && vector.contains("result")) {
    compare(id + " apply", apply_strategic(original, vector.at("patch"), schema), vector, "result");
  }
}

void check_vector(const Json& vector) {
  const std::string id(base::text_of(base::find(vector, "id")));
  const Schema* schema = schema_for_kind(base::text_of(base::find(vector, "kind")));
  INFO(id);
  REQUIRE(schema != nullptr);
  if (base::text_of(base::find(vector, "op")) == "diff") {
    check_diff(vector, id, *schema);
    return;
  }
  REQUIRE(base::text_of(base::find(vector, "op")) == "apply");
  compare(id, apply_strategic(vector.at("original"), vector.at("patch"), *schema), vector,
          "result");
}

std::size_t check_file(const std::string& path) {
  std::ifstream file(path);
  INFO(path);
  REQUIRE(file.is_open());
  std::size_t checked = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty()) {
      continue;
    }
    const Result<Json> vector = base::read_json(line);
    REQUIRE(vector.has_value());
    check_vector(vector.value());
    ++checked;
  }
  return checked;
}

TEST_CASE("strategic merge vectors: the recorded answers of Kubernetes", "[patch]") {
  CHECK(check_file(std::string(tests::kTestData) + "/vectors/strategic-merge.jsonl") == 390);
  for (const std::string& path : files_in(std::getenv("SMP_VECTORS"))) {
    CHECK(check_file(path) > 0);
  }
}

}  // namespace
}  // namespace injector::patch
