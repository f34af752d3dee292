#include "webhook/seats.h"

#include <cstdint>
#include <sys/eventfd.h>
#include <unistd.h>

namespace injector::webhook {

Bell::Bell()
    : fd_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

void Bell::ring() const noexcept {
  const std::uint64_t one = 1;
  // Fails only when the counter is full, and then it is ringing already.
  [[maybe_unused]] const ssize_t written = ::write(fd_.get(), &one, sizeof one);
}

void Bell::hush() const noexcept {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(fd_.get(), &count, sizeof count);
}

}  // namespace injector::webhook
