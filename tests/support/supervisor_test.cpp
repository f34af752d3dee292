#include "tests/support/supervisor.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "tests/support/child_process.h"
#include "tests/support/eventually.h"
#include "tests/support/temp_dir.h"

namespace injector::tests {
namespace {

/// A supervisor in a process of its own, as it would be in main().
class Supervised {
 public:
  explicit Supervised(const std::function<int()>& body)
      : pid_(::fork()) {
    if (pid_ == 0) {
      const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
      ::dup2(nowhere, STDOUT_FILENO);
      ::dup2(nowhere, STDERR_FILENO);
      ::_exit(supervise(body));
    }
  }

  void signal(int number) const { ::kill(pid_, number); }

  /// The exit code, or 128 + signal.
  [[nodiscard]] int wait() const {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t pid_;
};

/// Starts a child, leaves its pid and TMPDIR in the report, and does what the test wants then.
std::function<int()> body_with_child(const TempDir& report, const std::function<int()>& then) {
  return [&report, then] {
    const TempDir dir;
    const ChildProcess child({.argv = {"sleep", "600"}, .log_file = dir.file("log")});
    [[maybe_unused]] const auto tmp = report.write("tmp", dir.path().parent_path().string());
    [[maybe_unused]] const auto pid = report.write("pid.part", std::to_string(child.pid()));
    std::filesystem::rename(report.file("pid.part"),
                            report.file("pid"));  // Whole, once it is seen.
    return then();
  };
}

int wait_forever() {
  while (true) {
    ::pause();
  }
}

std::string trimmed(std::string text) {
  text.resize(text.find_last_not_of('\n') + 1);
  return text;
}

pid_t child_in(const TempDir& report) {
  REQUIRE(eventually([&] { return std::filesystem::exists(report.file("pid")); }));
  return std::stoi(tail(report.file("pid")));
}

void check_nothing_left(const TempDir& report, pid_t child) {
  CHECK(::kill(child, 0) != 0);
  CHECK_FALSE(std::filesystem::exists(trimmed(tail(report.file("tmp")))));
}

TEST_CASE("supervisor: returns what the body returns", "[support]") {
  CHECK(Supervised([] { return 0; }).wait() == 0);
  CHECK(Supervised([] { return 42; }).wait() == 42);
}

TEST_CASE("supervisor: SIGTERM ends the body and leaves nothing", "[support]") {
  const TempDir report;
  const Supervised supervised(body_with_child(report, wait_forever));
  const pid_t child = child_in(report);
  supervised.signal(SIGTERM);
  CHECK(supervised.wait() == 128 + SIGTERM);
  check_nothing_left(report, child);
}

TEST_CASE("supervisor: a crash leaves nothing", "[support]") {
  const TempDir report;
  const Supervised supervised(body_with_child(report, [] { return ::raise(SIGKILL); }));
  const pid_t child = child_in(report);
  CHECK(supervised.wait() == 128 + SIGKILL);
  check_nothing_left(report, child);
}

TEST_CASE("supervisor: a kill -9 of itself leaves no process", "[support]") {
  const TempDir report;
  const Supervised supervised(body_with_child(report, wait_forever));
  const pid_t child = child_in(report);
  supervised.signal(SIGKILL);
  CHECK(supervised.wait() == 128 + SIGKILL);
  CHECK(eventually([&] { return ::kill(child, 0) != 0; }));
  std::filesystem::remove_all(trimmed(tail(report.file("tmp"))));
}

TEST_CASE("supervisor: a forgotten process is a failure and is ended", "[support]") {
  const TempDir report;
  const Supervised supervised([&report] {
    const pid_t forgotten = ::fork();
    if (forgotten == 0) {
      wait_forever();
    }
    [[maybe_unused]] const auto pid = report.write("pid", std::to_string(forgotten));
    return 0;
  });
  CHECK(supervised.wait() == 1);
  CHECK(::kill(child_in(report), 0) != 0);
}

TEST_CASE("supervisor: a forgotten file is a failure", "[support]") {
  const Supervised supervised([] {
    std::FILE* file = std::fopen((std::string(std::getenv("TMPDIR")) + "/forgotten").c_str(), "w");
    return std::fclose(file);
  });
  CHECK(supervised.wait() == 1);
}

}  // namespace
}  // namespace injector::tests
