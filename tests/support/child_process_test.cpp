#include "tests/support/child_process.h"

#include <chrono>
#include <csignal>
#include <system_error>

#include <catch2/catch.hpp>

#include "tests/support/eventually.h"
#include "tests/support/free_port.h"
#include "tests/support/temp_dir.h"

namespace injector::tests {
namespace {

using namespace std::chrono_literals;

bool exists(pid_t pid) {
  return ::kill(pid, 0) == 0;
}

TEST_CASE("child process: exit code and both outputs are seen", "[support]") {
  const TempDir dir;
  const std::string log = dir.file("log");
  CHECK(run({.argv = {"sh", "-c", "echo out; echo err >&2; exit 7"}, .log_file = log}) == 7);
  CHECK(tail(log) == "out\nerr\n");
  CHECK(tail(log, 1) == "err\n");
}

TEST_CASE("child process: an added variable replaces the inherited one", "[support]") {
  const TempDir dir;
  const std::string log = dir.file("log");
  CHECK(run({.argv = {"sh", "-c", "echo $HOME; echo ${PATH:+kept}"},
             .log_file = log,
             .env = {"HOME=/nowhere"}}) == 0);
  CHECK(tail(log) == "/nowhere\nkept\n");
}

TEST_CASE("child process: a program that is not there is an error", "[support]") {
  const TempDir dir;
  CHECK_THROWS_AS((ChildProcess{{.argv = {"no-such-program"}, .log_file = dir.file("log")}}),
                  std::system_error);
}

TEST_CASE("child process: a wait ends at its deadline", "[support]") {
  const TempDir dir;
  ChildProcess child({.argv = {"sleep", "600"}, .log_file = dir.file("log")});
  CHECK_FALSE(child.wait(10ms).has_value());
  CHECK(child.running());
}

TEST_CASE("child process: stop lets it end by itself", "[support]") {
  const TempDir dir;
  const std::string log = dir.file("log");
  ChildProcess child(
      {.argv = {"sh", "-c", "trap 'exit 5' TERM; echo up; while :; do sleep 0.1; done"},
       .log_file = log});
  REQUIRE(eventually([&] { return tail(log) == "up\n"; }));
  CHECK(child.stop() == 5);
  CHECK_FALSE(child.running());
}

TEST_CASE("child process: stop kills what ignores it", "[support]") {
  const TempDir dir;
  const std::string log = dir.file("log");
  ChildProcess child({.argv = {"sh", "-c", "trap '' TERM; echo up; while :; do sleep 0.1; done"},
                      .log_file = log});
  REQUIRE(eventually([&] { return tail(log) == "up\n"; }));
  CHECK(child.stop(50ms) == 128 + SIGKILL);
}

TEST_CASE("child process: it and what it started are gone with their owner", "[support]") {
  const TempDir dir;
  const std::string log = dir.file("log");
  pid_t pid = 0;
  pid_t grandchild = 0;
  {
    const ChildProcess child({.argv = {"sh", "-c", "sleep 600 & echo $!; wait"}, .log_file = log});
    REQUIRE(eventually([&] { return tail(log).find('\n') != std::string::npos; }));
    pid = child.pid();
    grandchild = std::stoi(tail(log));
    CHECK(exists(pid));
    CHECK(exists(grandchild));
  }
  CHECK_FALSE(exists(pid));
  CHECK(eventually([&] {
    return tail("/proc/" + std::to_string(grandchild) + "/cmdline").find("sleep") ==
           std::string::npos;
  }));
}

TEST_CASE("temp dir: it goes with all that is in it", "[support]") {
  std::filesystem::path path;
  {
    const TempDir dir;
    path = dir.path();
    std::filesystem::create_directories(path / "deep" / "er");
    CHECK(dir.write("file", "text") == (path / "file").string());
    CHECK(std::filesystem::exists(path / "file"));
  }
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("free port: each is given once", "[support]") {
  const int first = free_port();
  const int second = free_port();
  CHECK(first != second);
  CHECK(port_is_free(first));
}

TEST_CASE("free port: a port in use is not free", "[support]") {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  REQUIRE(::bind(fd, reinterpret_cast<const sockaddr*>(&address), size) == 0);
  REQUIRE(::listen(fd, 1) == 0);
  REQUIRE(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  CHECK_FALSE(port_is_free(ntohs(address.sin_port)));
  ::close(fd);
}

}  // namespace
}  // namespace injector::tests
