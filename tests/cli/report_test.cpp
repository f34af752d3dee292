// What a command prints of a file that somebody else wrote cannot steer the terminal, nor look like
// other lines.

#include <sstream>
#include <string>

#include <catch2/catch.hpp>

#include "cli/explain_command.h"
#include "cli/inject_command.h"

namespace injector::cli {
namespace {

// YAML escapes: a line break, ESC, a C1 control and a bidirectional one.
constexpr const char* kPod =
    "kind: Pod\nmetadata:\n  name: \"a\\nerror: b\\e[2J\\x9b31m\\u202e\"\n  annotations:\n"
    "    initializer.kubernetes.io/envoy: \"tr\\e[31mue\"\nspec:\n  containers: [{name: app}]\n";

bool has_controls(const std::string& text) {
  return text.find('\x1b') != std::string::npos || text.find("\u009b") != std::string::npos ||
         text.find("\u202e") != std::string::npos;
}

TEST_CASE("inject: neither a name nor a value steers the terminal", "[cli]") {
  std::istringstream in(kPod);
  std::ostringstream out;
  std::ostringstream err;
  RewriteOptions options;
  options.files = {"-"};
  REQUIRE(run_inject(options, DecisionContext(), {in, out, err}) == kDone);
  CHECK(out.str() == kPod);
  CHECK_FALSE(has_controls(err.str()));
  CHECK_THAT(err.str(), Catch::StartsWith(R"(pod/a\nerror: b\u001b[2J\u009b31m\u202e: skipped)") &&
                            Catch::Contains(R"("tr\u001b[31mue")"));
}

TEST_CASE("explain: neither a name nor a value steers the terminal", "[cli]") {
  std::istringstream in(kPod);
  std::ostringstream out;
  std::ostringstream err;
  REQUIRE(run_explain({{"-"}, {}, {}, {}, {}}, DecisionContext(), {in, out, err}) == kDone);
  CHECK_FALSE(has_controls(out.str() + err.str()));
  CHECK_THAT(out.str(), Catch::Contains(R"(pod/a\nerror: b\u001b[2J)"));
}

}  // namespace
}  // namespace injector::cli
