// An event file descriptor: any thread wakes the one that polls it.

#pragma once

#include <cstdint>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/file_descriptor.h"

namespace injector::base {

/// All functions may be called from any thread.
class EventFd {
 public:
  EventFd() noexcept
      : event_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

  /// Readable from notify() to clear(). -1: no descriptor was available.
  [[nodiscard]] int fd() const noexcept { return event_.get(); }

  void notify() const noexcept {
    const std::uint64_t one = 1;
    // Fails only if the counter is full, and then the descriptor is readable already.
    [[maybe_unused]] const ssize_t written = ::write(event_.get(), &one, sizeof one);
  }

  void clear() const noexcept {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(event_.get(), &count, sizeof count);
  }

 private:
  FileDescriptor event_;
};

}  // namespace injector::base
