// A program that runs beside a test and never outlives it.

#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace injector::tests {

/// - Runs in a process group of its own; stdout and stderr are appended to one file, stdin is
/// empty.
/// - Is killed and reaped by the destructor, and by the kernel when the thread that started it ends
///   (a kill -9 of the test included): start it from a thread that lives as long as it is needed.
/// - One thread at a time may use it.
class ChildProcess {
 public:
  using Duration = std::chrono::milliseconds;

  struct Command {
    std::vector<std::string> argv;  ///< argv[0] is looked up in PATH.
    std::string log_file;
    std::vector<std::string> env = {};  ///< NAME=value, on top of this program's environment.
  };

  /// Throws std::system_error if the program cannot be started.
  explicit ChildProcess(const Command& command);
  ~ChildProcess();

  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }

  [[nodiscard]] bool running() { return !wait(Duration::zero()).has_value(); }

  /// Sends the signal to the program alone; does nothing if it has ended.
  void signal(int number);

  /// The exit code, 128 + signal if a signal ended it, or nothing if it still runs at the deadline.
  [[nodiscard]] std::optional<int> wait(Duration deadline);

  /// SIGTERM, and kill() if it has not ended by the deadline. Returns the exit code as wait().
  int stop(Duration deadline = std::chrono::seconds{20});

  /// SIGKILL to it and all it started in its group; returns when it is gone.
  int kill();

 private:
  void reap();

  pid_t pid_ = -1;
  int pidfd_ = -1;
  std::optional<int> exit_code_;  // Set once it is reaped: from then on the pid is not ours.
};

/// Runs the command to its end and returns its exit code; kills it at the deadline.
int run(const ChildProcess::Command& command,
        ChildProcess::Duration deadline = std::chrono::seconds{60});

/// The last lines of a file, for messages; says so if there is none.
std::string tail(const std::string& file, std::size_t lines = 30);

}  // namespace injector::tests
