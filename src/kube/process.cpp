#include "kube/process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file_descriptor.h"
#include "base/until.h"

namespace injector::kube {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::size_t kMaxOutput = std::size_t{1} << 20U;
constexpr base::Duration kExitPoll = std::chrono::milliseconds(10);

std::vector<std::string> merged_environment(const Command& command) {
  std::vector<std::string> merged;
  const auto overridden = [&](std::string_view entry) {
    return std::any_of(command.env.begin(), command.env.end(), [&](const auto& added) {
      return entry.size() > added.first.size() && entry.starts_with(added.first) &&
             entry[added.first.size()] == '=';
    });
  };
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (!overridden(*entry)) {
      merged.emplace_back(*entry);
    }
  }
  for (const auto& [name, value] : command.env) {
    merged.push_back(name + "=" + value);
  }
  return merged;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (std::string& text : texts) {
    out.push_back(text.data());
  }
  out.push_back(nullptr);
  return out;
}

/// What happens between fork and exec.
class SpawnPlan {
 public:
  SpawnPlan(int output, bool interactive) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
    posix_spawnattr_init(&attributes_);
    // The child starts with the signals of a fresh program, whatever this one blocks or ignores.
    sigset_t all;
    sigset_t none;
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    int flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    if (!interactive) {
      posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
      posix_spawnattr_setpgroup(&attributes_, 0);  // So that its children die with it.
      flags |= POSIX_SPAWN_SETPGROUP;
    }
    posix_spawnattr_setflags(&attributes_, static_cast<short>(flags));
  }

  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }

  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  [[nodiscard]] int spawn(const Command& command, pid_t& pid) const {
    std::vector<std::string> texts{command.program};
    texts.insert(texts.end(), command.args.begin(), command.args.end());
    std::vector<std::string> environment = merged_environment(command);
    return posix_spawnp(&pid, command.program.c_str(), &actions_, &attributes_,
                        pointers(texts).data(), pointers(environment).data());
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

/// A running child; whoever does not wait for its end kills it.
class Child {
 public:
  Child(pid_t pid, bool group)
      : pid_(pid),
        group_(group) {}

  ~Child() {
    if (pid_ > 0) {
      ::kill(group_ ? -pid_ : pid_, SIGKILL);
      while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
  }

  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// The wait status.
  [[nodiscard]] Result<int> wait(const base::Until& until) {
    for (;;) {
      int status = 0;
      const pid_t ended = ::waitpid(pid_, &status, WNOHANG);
      if (ended == pid_) {
        pid_ = 0;
        return status;
      }
      if (ended < 0 && errno != EINTR) {
        pid_ = 0;
        return base::system_error("waitpid", errno);
      }
      INJ_TRY(base::sleep_for(kExitPoll, until));
    }
  }

 private:
  pid_t pid_;
  bool group_;
};

Result<std::string> read_all(int fd, const base::Until& until) {
  const base::Waiter waiter;
  std::string text;
  std::array<char, 4096> block{};
  for (;;) {
    INJ_TRY(waiter.wait(fd, POLLIN, until));
    const ssize_t got = ::read(fd, block.data(), block.size());
    if (got < 0 && errno != EINTR && errno != EAGAIN) {
      return base::system_error("read", errno);
    }
    if (got == 0) {
      return text;
    }
    text.append(block.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (text.size() > kMaxOutput) {
      return Error{ErrorCode::Internal, "wrote more than 1 MiB"};
    }
  }
}

Result<void> check_exit(int status) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    return {};
  }
  const std::string how = WIFSIGNALED(status)
                              ? "killed by signal " + std::to_string(WTERMSIG(status))
                              : "exit code " + std::to_string(WEXITSTATUS(status));
  return Error{ErrorCode::Unauthorized, how};
}

}  // namespace

Result<std::string> run_command(const Command& command, const base::Until& until) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return base::system_error("pipe", errno);
  }
  const base::FileDescriptor output(ends[0]);
  base::FileDescriptor input(ends[1]);
  pid_t pid = 0;
  const int failed = SpawnPlan(input.get(), command.interactive).spawn(command, pid);
  if (failed != 0) {
    Error error = base::system_error(command.program.c_str(), failed);
    error.code = failed == ENOENT ? ErrorCode::NotFound : ErrorCode::InvalidInput;
    return error;
  }
  Child child(pid, !command.interactive);
  input.reset();  // Or we would wait for ourselves to end the output.
  Result<std::string> text = read_all(output.get(), until);
  if (!text) {
    return annotate(std::move(text).error(), command.program);
  }
  const Result<int> status = child.wait(until);
  if (!status) {
    return annotate(status.error(), command.program);
  }
  if (auto ended_well = check_exit(status.value()); !ended_well) {
    return annotate(std::move(ended_well).error(), command.program);
  }
  return text;
}

}  // namespace injector::kube
