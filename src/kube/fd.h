// A file descriptor that closes itself, and a wait on one that a stop token can end.

#pragma once

#include <unistd.h>
#include <utility>

#include "base/result.h"
#include "kube/until.h"

namespace injector::kube {

class Fd {
 public:
  Fd() = default;

  explicit Fd(int fd) noexcept
      : fd_(fd) {}

  Fd(Fd&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)) {}

  Fd& operator=(Fd&& other) noexcept {
    reset(std::exchange(other.fd_, -1));
    return *this;
  }

  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;

  ~Fd() { reset(); }

  void reset(int fd = -1) noexcept {
    if (fd_ >= 0) {
      ::close(fd_);
    }
    fd_ = fd;
  }

  [[nodiscard]] int get() const noexcept { return fd_; }

  [[nodiscard]] bool valid() const noexcept { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

/// Waits for other descriptors. Used by one thread at a time; a stop may come from any.
class Waiter {
 public:
  Waiter();

  /// Returns when poll(2) reports any of `events`, an error or a hang-up on `fd`.
  [[nodiscard]] base::Result<void> wait(int fd, short events, const Until& until) const;

 private:
  Fd wake_;  // An eventfd that a stop writes to.
};

/// "connect: connection refused".
[[nodiscard]] base::Error system_error(const char* what, int number);

}  // namespace injector::kube
