// An event file descriptor: any thread wakes the one that waits for it.

#pragma once

#include <cstdint>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/file_descriptor.h"

namespace injector::http {

class Wakeup {
 public:
  Wakeup() noexcept
      : event_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

  /// Readable once wake() was called. -1: there was no descriptor to be had.
  [[nodiscard]] int fd() const noexcept { return event_.get(); }

  void wake() noexcept {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(event_.get(), &one, sizeof one);
  }

  void clear() noexcept {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(event_.get(), &count, sizeof count);
  }

 private:
  base::FileDescriptor event_;
};

}  // namespace injector::http
