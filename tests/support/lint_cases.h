// The templates of tests/fixtures/lint, for those who judge them: the linter and an API server.

#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "tests/support/files.h"
#include "yaml/yaml.h"

namespace injector::tests {

struct LintCase {
  std::string text;     // As it stands in the file.
  base::Json value;     // The template.
  std::string differs;  // Why an old server judges otherwise; empty if it does not.
};

inline base::Json plain_template() {
  return base::Json::parse(R"({"containers": [{"name": "a", "image": "b"}],
                               "initContainers": [{"name": "i", "image": "b"}],
                               "volumes": [{"name": "v", "emptyDir": {}}]})");
}

/// C/image is /containers/0/image; I and V are the init container and the volume.
inline base::Json::json_pointer case_pointer(const std::string& key) {
  for (const auto& [letter, start] :
       {std::pair{'C', "/containers/0"}, {'I', "/initContainers/0"}, {'V', "/volumes/0"}}) {
    if (key.front() == letter) {
      return base::Json::json_pointer(start + key.substr(1));
    }
  }
  return base::Json::json_pointer(key);
}

inline LintCase lint_case(const base::Json& changes) {
  LintCase result{base::to_text(changes), plain_template(), ""};
  for (const auto& [key, value] : changes.items()) {
    if (key == "differs") {
      result.differs = value.get<std::string>();
    } else {
      result.value[case_pointer(key)] = value;
    }
  }
  return result;
}

/// faulty.yaml or good.yaml.
inline std::vector<LintCase> lint_cases(const std::string& file) {
  const std::string text = read_file(data_path("fixtures/lint/" + file));
  const base::Json changes = yaml::read_yaml(text).value().value;
  std::vector<LintCase> cases;
  for (const base::Json& change : changes) {
    cases.push_back(lint_case(change));
  }
  if (cases.empty()) {
    throw std::runtime_error("no cases in " + file);
  }
  return cases;
}

}  // namespace injector::tests
