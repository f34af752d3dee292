#include "kube/waiter.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <limits>
#include <poll.h>
#include <string>
#include <sys/eventfd.h>
#include <system_error>
#include <unistd.h>

namespace injector::kube {
namespace {

int poll_timeout(base::TimePoint deadline) {
  if (deadline == base::TimePoint::max()) {
    return -1;
  }
  const auto left = std::chrono::ceil<base::Duration>(deadline - std::chrono::steady_clock::now());
  constexpr base::Duration::rep kMost = std::numeric_limits<int>::max();
  return static_cast<int>(std::clamp<base::Duration::rep>(left.count(), 0, kMost));
}

void ring(int wake) {
  const std::uint64_t one = 1;
  // Fails only if the counter is full, and then the bell rings already.
  [[maybe_unused]] const ssize_t written = ::write(wake, &one, sizeof one);
}

void silence(int wake) {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(wake, &count, sizeof count);
}

}  // namespace

Waiter::Waiter()
    : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

base::Result<void> Waiter::wait(int fd, short events, const Until& until) const {
  if (!wake_) {
    return system_error("eventfd", EMFILE);
  }
  const std::stop_callback on_stop(until.stop, [this] { ring(wake_.get()); });
  for (;;) {
    if (auto go_on = until.check(); !go_on) {
      return go_on;
    }
    std::array<pollfd, 2> polled{{{fd, events, 0}, {wake_.get(), POLLIN, 0}}};
    const int ready = ::poll(polled.data(), polled.size(), poll_timeout(until.deadline));
    if (ready < 0 && errno != EINTR) {
      return system_error("poll", errno);
    }
    if (ready > 0 && polled[0].revents != 0) {
      return {};
    }
    silence(wake_.get());  // A stop of an earlier wait that came too late for it.
  }
}

base::Error system_error(const char* what, int number) {
  return {base::ErrorCode::Unavailable,
          std::string(what) + ": " + std::generic_category().message(number)};
}

}  // namespace injector::kube
