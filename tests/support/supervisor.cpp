#include "tests/support/supervisor.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include "tests/support/temp_dir.h"

namespace injector::tests {
namespace {

constexpr int kFailed = 1;
constexpr int kBySignal = 128;

sigset_t watched_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) {
    ::sigaddset(&set, number);
  }
  return set;
}

/// Runs in the child; never returns.
[[noreturn]] void run_body(const std::function<int()>& body, pid_t supervisor) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != supervisor) {
    ::_exit(kFailed);
  }
  const sigset_t watched = watched_signals();
  ::sigprocmask(SIG_UNBLOCK, &watched, nullptr);
  ::signal(SIGPIPE, SIG_IGN);  // A server that was killed must not take its client along.
  std::exit(body());           // Static objects go too: a shared server is one of them.
}

/// Reaps whatever has ended; the exit code of the body if it is among them.
std::optional<int> reap_ended(pid_t body = 0) {
  std::optional<int> code;
  int status = 0;
  for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
    if (pid == body) {
      code = WIFEXITED(status) ? WEXITSTATUS(status) : kBySignal + WTERMSIG(status);
    }
  }
  return code;
}

/// Passes signals on; a body that has not ended soon after one is killed.
int wait_for(pid_t body) {
  constexpr timespec kGrace{.tv_sec = 5, .tv_nsec = 0};
  const sigset_t watched = watched_signals();
  bool signalled = false;
  while (true) {
    const int number = ::sigtimedwait(&watched, nullptr, signalled ? &kGrace : nullptr);
    if (number == SIGCHLD) {
      if (const std::optional<int> code = reap_ended(body)) {
        return *code;
      }
    } else if (number > 0) {
      ::kill(body, number);
      signalled = true;
    } else if (errno == EAGAIN) {
      ::kill(body, SIGKILL);
    }
  }
}

/// Orphans of the body are children of this process now.
std::vector<pid_t> orphans() {
  std::ifstream in("/proc/thread-self/children");
  std::vector<pid_t> pids;
  for (pid_t pid = 0; in >> pid;) {
    pids.push_back(pid);
  }
  return pids;
}

std::string command_of(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/comm");
  std::string name;
  std::getline(in, name);
  return name;
}

/// Ends the orphans, and theirs; returns what they were.
std::vector<std::string> end_orphans() {
  std::vector<std::string> found;
  reap_ended();
  for (std::vector<pid_t> pids = orphans(); !pids.empty(); pids = orphans()) {
    for (const pid_t pid : pids) {
      found.push_back("process " + command_of(pid));
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
  }
  return found;
}

std::vector<std::string> files_in(const TempDir& dir) {
  std::vector<std::string> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(dir.path(), ignored)) {
    found.push_back("file " + entry.path().filename().string());
  }
  return found;
}

/// The verdict on a body that ended by itself and thinks that all is well.
int check_nothing_left(std::vector<std::string> left, const std::vector<std::string>& files) {
  left.insert(left.end(), files.begin(), files.end());
  for (const std::string& what : left) {
    std::fprintf(stderr, "the test left something behind: %s\n", what.c_str());
  }
  return left.empty() ? 0 : kFailed;
}

}  // namespace

int supervise(const std::function<int()>& body) {
  const TempDir dir;
  ::setenv("TMPDIR", dir.path().c_str(), 1);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const sigset_t watched = watched_signals();
  ::sigprocmask(SIG_BLOCK, &watched, nullptr);
  const pid_t supervisor = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) {
    run_body(body, supervisor);
  }
  if (pid < 0) {
    std::perror("fork");
    return kFailed;
  }
  const int code = wait_for(pid);
  std::vector<std::string> processes = end_orphans();
  return code == 0 ? check_nothing_left(std::move(processes), files_in(dir)) : code;
}

}  // namespace injector::tests
