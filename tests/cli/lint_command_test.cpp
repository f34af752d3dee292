#include "cli/lint_command.h"

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/cli/run_commands.h"
#include "tests/support/temp_dir.h"

namespace injector::cli::tests {
namespace {

using injector::tests::TempDir;

Output lint(const std::vector<std::string>& files, const std::string& stdin_text = "") {
  std::istringstream in(stdin_text);
  std::ostringstream out;
  std::ostringstream err;
  const int code = run_lint(files, {}, {in, out, err});
  return {code, out.str(), err.str()};
}

TEST_CASE("lint: a good template is a line on standard error only", "[cli]") {
  const TempDir dir;
  const std::string file = dir.write("t.yaml", kTemplate);
  const Output output = lint({file});
  CHECK(output.code == kDone);
  CHECK(output.out.empty());
  CHECK(output.err.starts_with(file + ": ok (1 containers, 0 init containers, 2 volumes, sha256:"));
}

TEST_CASE("lint: problems are results, one line each with file, line and field", "[cli]") {
  const TempDir dir;
  const std::string file = dir.write(
      "t.yaml", "containers:\n- name: proxy\n  imge: proxy:1\n  ports:\n  - containerPort: x\n");
  const Output output = lint({file});
  CHECK(output.code == kFailed);
  CHECK(output.out.find(file + ":3: containers[0].imge: ") != std::string::npos);
  CHECK(output.out.find(file + ":5: containers[0].ports[0].containerPort: ") != std::string::npos);
  const auto lines = std::count(output.out.begin(), output.out.end(), '\n');
  CHECK(output.says(file + ": " + std::to_string(lines) + " problems\n"));
}

TEST_CASE("lint: one bad file does not hide the next, and fails the run", "[cli]") {
  const TempDir dir;
  const std::string good = dir.write("good.yaml", kTemplate);
  const Output output = lint({dir.file("missing.yaml"), good, "-"}, "containers: 5\n");
  CHECK(output.code == kFailed);
  CHECK(output.says("error: " + dir.file("missing.yaml")));
  CHECK(output.says(good + ": ok"));
  CHECK(output.out.find("containers") != std::string::npos);
}

}  // namespace
}  // namespace injector::cli::tests
