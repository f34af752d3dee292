#include "base/replace_file.h"

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>

#include <catch2/catch.hpp>

#include "tests/support/files.h"
#include "tests/support/temp_dir.h"

namespace injector::base {
namespace {

using tests::read_file;
using tests::TempDir;

std::size_t files_in(const TempDir& dir) {
  const std::filesystem::directory_iterator entries(dir.path());
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

TEST_CASE("replace file: makes a file, and replaces it", "[base]") {
  const TempDir dir;
  REQUIRE(replace_file(dir.file("a"), "long content"));
  REQUIRE(replace_file(dir.file("a"), "short"));
  REQUIRE(read_file(dir.file("a")) == "short");
  REQUIRE(files_in(dir) == 1);
}

TEST_CASE("replace file: what a crash left behind is no hindrance", "[base]") {
  const TempDir dir;
  static_cast<void>(dir.write("a.new", "half of a much longer con"));
  REQUIRE(replace_file(dir.file("a"), "whole"));
  REQUIRE(read_file(dir.file("a")) == "whole");
  REQUIRE(files_in(dir) == 1);
}

TEST_CASE("replace file: a failure names the file and leaves the old content", "[base]") {
  const TempDir dir;
  REQUIRE(replace_file(dir.file("a"), "old"));
  std::filesystem::create_directory(dir.file("a.new"));
  const auto failed = replace_file(dir.file("a"), "new");
  REQUIRE_FALSE(failed);
  REQUIRE(failed.error().message.find(dir.file("a") + ": ") == 0);
  REQUIRE(read_file(dir.file("a")) == "old");
  REQUIRE_FALSE(replace_file(dir.file("no-such-folder/a"), "new"));
}

TEST_CASE("replace file: a reader never sees half of a file", "[base][threads]") {
  const TempDir dir;
  const std::string path = dir.file("a");
  REQUIRE(replace_file(path, std::string(10'000, 'x')));
  std::atomic<bool> whole = true;
  std::jthread reader([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      whole = whole && read_file(path).size() >= 10'000;
    }
  });
  for (std::size_t more = 0; more < 50; ++more) {
    REQUIRE(replace_file(path, std::string(10'000 + more, 'x')));
  }
  reader.request_stop();
  reader.join();
  REQUIRE(whole);
}

}  // namespace
}  // namespace injector::base
