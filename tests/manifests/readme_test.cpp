// What the documents and the program say about each other.

#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/child_process.h"
#include "tests/support/files.h"
#include "tests/support/paths.h"
#include "tests/support/temp_dir.h"

namespace injector::tests {
namespace {

using FlagsOfCommand = std::map<std::string, std::set<std::string>>;

const std::vector<std::string> kCommands = {"inject",     "uninject",    "explain", "lint",
                                            "patch diff", "patch apply", "webhook", "controller",
                                            "status",     "check",       "certs"};

std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

// The long name of the flag that a line of the help is about; empty if it is about none.
std::string flag_of(const std::string& line) {
  const bool about_a_flag = line.rfind("  -", 0) == 0;
  const std::size_t begin = about_a_flag ? line.find("--") : std::string::npos;
  if (begin == std::string::npos) {
    return {};
  }
  return line.substr(begin, line.find_first_of(" ,\n", begin) - begin);
}

std::set<std::string> flags_in_help(const std::string& command) {
  const TempDir dir;
  std::vector<std::string> arguments{kProgram};
  for (const std::string& word : words(command)) {
    arguments.push_back(word);
  }
  arguments.emplace_back("--help");
  REQUIRE(run({.argv = arguments, .log_file = dir.file("help")}) == 0);
  std::istringstream help(read_file(dir.file("help")));
  std::set<std::string> flags;
  for (std::string line; std::getline(help, line);) {
    if (const std::string flag = flag_of(line); !flag.empty() && flag != "--help") {
      flags.insert(flag);
    }
  }
  return flags;
}

// Rows of the table of flags: | `-f, --filename` | inject, uninject | default | what it does |
FlagsOfCommand documented_flags() {
  std::istringstream table(read_file(data_path("../docs/flags.md")));
  FlagsOfCommand flags;
  for (std::string line; std::getline(table, line);) {
    if (line.rfind("| `-", 0) != 0) {
      continue;
    }
    const std::size_t begin = line.find("--");
    const std::string flag = line.substr(begin, line.find('`', begin) - begin);
    const std::size_t commands = line.find("| ", begin) + 2;
    std::istringstream list(line.substr(commands, line.find(" |", commands) - commands));
    for (std::string command; std::getline(list >> std::ws, command, ',');) {
      flags[command].insert(flag);
    }
  }
  return flags;
}

TEST_CASE("docs/flags.md: has the flags of every command, and no others", "[manifests]") {
  const FlagsOfCommand documented = documented_flags();
  CHECK(documented.size() == kCommands.size());
  for (const std::string& command : kCommands) {
    INFO(command);
    REQUIRE(documented.contains(command));
    CHECK(documented.at(command) == flags_in_help(command));
  }
}

}  // namespace
}  // namespace injector::tests
