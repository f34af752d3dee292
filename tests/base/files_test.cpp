#include "base/files.h"

#include <atomic>
#include <filesystem>
#include <string>
#include <sys/stat.h>
#include <thread>

#include <catch2/catch.hpp>

#include "tests/support/files.h"
#include "tests/support/temp_dir.h"

namespace injector::base {
namespace {

using tests::TempDir;

std::size_t files_in(const TempDir& dir) {
  const std::filesystem::directory_iterator entries(dir.path());
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

TEST_CASE("replace file: makes a file, and replaces it", "[base]") {
  const TempDir dir;
  REQUIRE(replace_file(dir.file("a"), "long content"));
  REQUIRE(replace_file(dir.file("a"), "short"));
  REQUIRE(tests::read_file(dir.file("a")) == "short");
  REQUIRE(files_in(dir) == 1);
}

TEST_CASE("replace file: what a crash left behind is no hindrance", "[base]") {
  const TempDir dir;
  static_cast<void>(dir.write("a.new", "half of a much longer con"));
  REQUIRE(replace_file(dir.file("a"), "whole"));
  REQUIRE(tests::read_file(dir.file("a")) == "whole");
  REQUIRE(files_in(dir) == 1);
}

TEST_CASE("replace file: a failure names the file and leaves the old content", "[base]") {
  const TempDir dir;
  REQUIRE(replace_file(dir.file("a"), "old"));
  std::filesystem::create_directory(dir.file("a.new"));
  const auto failed = replace_file(dir.file("a"), "new");
  REQUIRE_FALSE(failed);
  REQUIRE(failed.error().message.find(dir.file("a") + ": ") == 0);
  REQUIRE(tests::read_file(dir.file("a")) == "old");
  REQUIRE_FALSE(replace_file(dir.file("no-such-folder/a"), "new"));
}

TEST_CASE("replace file: a reader never sees half of a file", "[base][threads]") {
  const TempDir dir;
  const std::string path = dir.file("a");
  REQUIRE(replace_file(path, std::string(10'000, 'x')));
  std::atomic<bool> whole = true;
  std::jthread reader([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      whole = whole && tests::read_file(path).size() >= 10'000;
    }
  });
  for (std::size_t more = 0; more < 50; ++more) {
    REQUIRE(replace_file(path, std::string(10'000 + more, 'x')));
  }
  reader.request_stop();
  reader.join();
  REQUIRE(whole);
}

TEST_CASE("write file: makes a file, overwrites it, and says why it cannot", "[base]") {
  const TempDir dir;
  REQUIRE(write_file(dir.file("a"), "long content"));
  REQUIRE(write_file(dir.file("a"), "short"));
  CHECK(read_file(dir.file("a")).value() == "short");
  const auto failed = write_file(dir.file("no-such-folder/a"), "new");
  REQUIRE_FALSE(failed);
  CHECK(failed.error().message == dir.file("no-such-folder/a") + ": No such file or directory");
}

TEST_CASE("read file: what is no readable file is an error", "[base]") {
  const TempDir dir;
  CHECK(read_file(dir.file("none")).error().code == ErrorCode::NotFound);
  CHECK(read_regular_file(dir.file("none")).error().code == ErrorCode::NotFound);
  CHECK_FALSE(read_file(dir.file("")));
  CHECK_FALSE(read_regular_file(dir.file("")));
  dir.write("large", "12345");
  CHECK_FALSE(read_file(dir.file("large"), 4));
  CHECK_FALSE(read_regular_file(dir.file("large"), 4));
  CHECK(read_regular_file(dir.file("large"), 5).value() == "12345");
  dir.write("empty", "");
  CHECK(read_file(dir.file("empty")).value().empty());
  CHECK(read_regular_file(dir.file("empty")).value().empty());
}

TEST_CASE("read file: a pipe is read to its end, and a regular file must be one", "[base]") {
  const TempDir dir;
  const std::string fifo = dir.file("fifo");
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  CHECK_FALSE(read_regular_file(fifo));
  const std::jthread writer([&fifo] { static_cast<void>(write_file(fifo, "piped")); });
  CHECK(read_file(fifo).value() == "piped");
}

}  // namespace
}  // namespace injector::base
