#include "tests/support/child_process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <fcntl.h>
#include <fstream>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace injector::tests {
namespace {

[[noreturn]] void fail(int error, const std::string& what) {
  throw std::system_error(error, std::generic_category(), what);
}

/// What exec() takes, made before the fork: after it, a program with threads may not allocate.
class Strings {
 public:
  explicit Strings(std::vector<std::string> texts)
      : texts_(std::move(texts)) {
    for (std::string& text : texts_) {
      pointers_.push_back(text.data());
    }
    pointers_.push_back(nullptr);
  }

  [[nodiscard]] char* const* data() const { return pointers_.data(); }

 private:
  std::vector<std::string> texts_;
  std::vector<char*> pointers_;
};

std::string name_of(const std::string& entry) {
  return entry.substr(0, entry.find('='));
}

std::vector<std::string> environment_with(const std::vector<std::string>& added) {
  std::vector<std::string> result = added;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    bool replaced = false;
    for (const std::string& other : added) {
      replaced = replaced || name_of(other) == name_of(*entry);
    }
    if (!replaced) {
      result.emplace_back(*entry);
    }
  }
  return result;
}

/// Runs in the child, where only async-signal-safe calls are allowed. Returns errno if it could not
/// become the program.
int become(const Strings& argv, const Strings& env, int log, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) {
    ::_exit(127);  // The parent died before we asked to die with it.
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int empty = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (empty < 0 || ::dup2(empty, 0) < 0 || ::dup2(log, 1) < 0 || ::dup2(log, 2) < 0) {
    return errno;
  }
  ::execvpe(argv.data()[0], argv.data(), env.data());
  return errno;
}

/// Holds two ends of a pipe; reading yields nothing once the child has become the program.
class ErrorPipe {
 public:
  ErrorPipe() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) {
      fail(errno, "pipe");
    }
  }

  ~ErrorPipe() {
    ::close(ends_[0]);
    close_write_end();
  }

  ErrorPipe(const ErrorPipe&) = delete;
  ErrorPipe& operator=(const ErrorPipe&) = delete;

  void write(int error) const {
    [[maybe_unused]] const ssize_t ignored = ::write(ends_[1], &error, sizeof error);
  }

  int read() {
    close_write_end();
    int error = 0;
    ssize_t size = 0;
    do {
      size = ::read(ends_[0], &error, sizeof error);
    } while (size < 0 && errno == EINTR);
    return size == sizeof error ? error : 0;
  }

 private:
  void close_write_end() {
    if (ends_[1] >= 0) {
      ::close(ends_[1]);
    }
    ends_[1] = -1;
  }

  std::array<int, 2> ends_{};
};

int open_log(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) {
    fail(errno, "open " + path);
  }
  return fd;
}

int exit_code_of(const siginfo_t& info) {
  constexpr int kBySignal = 128;
  return info.si_code == CLD_EXITED ? info.si_status : kBySignal + info.si_status;
}

}  // namespace

ChildProcess::ChildProcess(const Command& command) {
  const Strings argv(command.argv);
  const Strings env(environment_with(command.env));
  const int log = open_log(command.log_file);
  ErrorPipe failure;
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {
    failure.write(become(argv, env, log, parent));
    ::_exit(127);
  }
  const int fork_error = errno;
  ::close(log);
  if (pid_ < 0) {
    fail(fork_error, "fork");
  }
  pidfd_ =
      static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));  // No wrapper for C++ in glibc 2.36.
  if (const int error = failure.read(); error != 0 || pidfd_ < 0) {
    kill();
    ::close(pidfd_);
    fail(error != 0 ? error : ENOSYS, "start " + command.argv[0]);
  }
}

ChildProcess::~ChildProcess() {
  kill();
  ::close(pidfd_);
}

void ChildProcess::signal(int number) {
  if (!exit_code_) {
    ::kill(pid_, number);
  }
}

std::optional<int> ChildProcess::wait(Duration deadline) {
  const auto until = std::chrono::steady_clock::now() + deadline;
  while (!exit_code_) {
    const auto left = std::chrono::ceil<Duration>(until - std::chrono::steady_clock::now());
    pollfd ended{.fd = pidfd_, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&ended, 1, static_cast<int>(std::max(left, Duration::zero()).count()));
    if (ready > 0) {
      reap();
    } else if (ready == 0) {
      break;
    }
  }
  return exit_code_;
}

int ChildProcess::stop(Duration deadline) {
  signal(SIGTERM);
  const std::optional<int> code = wait(deadline);
  return code ? *code : kill();
}

int ChildProcess::kill() {
  if (!exit_code_) {
    ::kill(-pid_, SIGKILL);
    ::kill(pid_, SIGKILL);  // It may not have made its group yet.
    reap();
  }
  return *exit_code_;
}

void ChildProcess::reap() {
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED) != 0 && errno == EINTR) {
  }
  exit_code_ = exit_code_of(info);
}

int run(const ChildProcess::Command& command, ChildProcess::Duration deadline) {
  ChildProcess child(command);
  const std::optional<int> code = child.wait(deadline);
  return code ? *code : child.kill();
}

std::string tail(const std::string& file, std::size_t lines) {
  std::ifstream in(file);
  if (!in) {
    return "(no file " + file + ")\n";
  }
  std::deque<std::string> last;
  for (std::string line; std::getline(in, line);) {
    last.push_back(line + "\n");
    if (last.size() > lines) {
      last.pop_front();
    }
  }
  std::string text;
  for (const std::string& line : last) {
    text += line;
  }
  return text;
}

}  // namespace injector::tests
