#include "cli/unified_diff.h"

#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/cli/run_commands.h"
#include "tests/support/temp_dir.h"

namespace injector::cli {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    lines.push_back(line + (in.eof() ? "" : "\n"));
  }
  return lines;
}

// "@@ -12,3 +12,4 @@": the first line of the old text that the hunk is about, counted from 0.
std::size_t old_start(const std::string& head) {
  const std::size_t number = std::stoul(head.substr(4));
  const std::size_t comma = head.find_first_of(", ", 4);
  const bool empty = head.compare(comma, 2, ",0") == 0;
  return empty ? number : number - 1;
}

// What patch(1) does: fails if a line of context is not there.
std::string patched(const std::string& before, const std::string& diff) {
  const auto old = lines_of(before);
  std::string result;
  std::size_t at = 0;
  for (const std::string& line : lines_of(diff)) {
    const std::string rest = line.substr(1);
    if (line[0] == '@') {
      for (const std::size_t start = old_start(line); at < start;) {
        result += old.at(at++);
      }
    } else if (line[0] == '+') {
      result += rest;
    } else if (line[0] == '\\') {
      result.pop_back();
    } else {
      REQUIRE(at < old.size());
      REQUIRE(lines_of(old.at(at)).front().find(rest.substr(0, rest.size() - 1)) == 0);
      result += line[0] == ' ' ? old.at(at) : "";
      ++at;
    }
  }
  while (at < old.size()) {
    result += old.at(at++);
  }
  return result;
}

TEST_CASE("unified diff: equal texts have none", "[cli]") {
  CHECK(unified_diff("", "").empty());
  CHECK(unified_diff("a\nb\n", "a\nb\n").empty());
}

TEST_CASE("unified diff: three lines of context around a change", "[cli]") {
  CHECK(unified_diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n") ==
        "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
}

TEST_CASE("unified diff: changes far apart are two hunks, near ones are one", "[cli]") {
  std::string before;
  for (int i = 0; i < 30; ++i) {
    before += std::to_string(i) + "\n";
  }
  std::string far = before;
  far.replace(far.find("\n28\n"), 4, "\nx\n").replace(far.find("\n2\n"), 3, "\ny\n");
  std::string near = before;
  near.replace(near.find("\n6\n"), 3, "\nx\n").replace(near.find("\n2\n"), 3, "\ny\n");
  const auto hunks = [](const std::string& diff) {
    std::size_t count = 0;
    for (const std::string& line : lines_of(diff)) {
      count += line.starts_with("@@") ? 1U : 0U;
    }
    return count;
  };
  CHECK(hunks(unified_diff(before, far)) == 2);
  CHECK(hunks(unified_diff(before, near)) == 1);
  CHECK(patched(before, unified_diff(before, far)) == far);
}

TEST_CASE("unified diff: line numbers count from where the text begins in its file", "[cli]") {
  CHECK(unified_diff("a\n", "a\nb\n", {10, 12}) == "@@ -10,1 +12,2 @@\n a\n+b\n");
}

TEST_CASE("unified diff: applying it to the old text gives the new one", "[cli]") {
  std::mt19937 random(20240607);
  const auto text = [&] {
    std::string lines;
    for (std::size_t i = random() % 25; i > 0; --i) {
      lines += std::string(1, static_cast<char>('a' + random() % 4)) + "\n";
    }
    return lines;
  };
  for (int i = 0; i < 500; ++i) {
    const std::string before = text();
    const std::string after = text();
    const std::string diff = unified_diff(before, after);
    INFO(before << "->\n" << after << "by\n" << diff);
    REQUIRE(patched(before, diff) == after);
  }
}

TEST_CASE("unified diff: a missing newline at the end is marked", "[cli]") {
  CHECK(unified_diff("a", "a\nb\n").find("\\ No newline at end of file\n") != std::string::npos);
}

TEST_CASE("unified diff: colours are about lines, and resets end them", "[cli]") {
  const std::string text = coloured("@@ -1 +1 @@\n-a\n+b\n c\n");
  CHECK(text.find("\033[31m-a") != std::string::npos);
  CHECK(text.find("\033[32m+b") != std::string::npos);
  CHECK(text.find("\n c\n") != std::string::npos);
}

TEST_CASE("inject: -o diff of several files names each that changes, and applies to it", "[cli]") {
  const injector::tests::TempDir dir;
  const std::string text = "kind: ConfigMap\n---\n" + tests::asking_pod("a");
  const std::string web = dir.write("a.yaml", text);
  const std::string same = dir.write("b.yaml", "kind: ConfigMap\n");
  RewriteOptions options = tests::options_for({web, same});
  options.output = OutputFormat::Diff;
  const auto output = tests::run_inject_on(options, tests::context_with(tests::kTemplate));
  CHECK(output.code == kDone);
  const std::string head = "--- " + web + "\n+++ " + web + "\n";
  REQUIRE(output.out.starts_with(head));
  CHECK(output.out.find(same) == std::string::npos);
  CHECK(patched(text, output.out.substr(head.size())) == tests::inject_text(text).out);
}

}  // namespace
}  // namespace injector::cli
