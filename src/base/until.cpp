#include "base/until.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstdint>
#include <limits>
#include <mutex>
#include <poll.h>
#include <sys/eventfd.h>
#include <system_error>
#include <unistd.h>

namespace injector::base {
namespace {

int poll_timeout(TimePoint deadline) {
  if (deadline == TimePoint::max()) {
    return -1;
  }
  const auto left = std::chrono::ceil<Duration>(deadline - std::chrono::steady_clock::now());
  constexpr Duration::rep kMost = std::numeric_limits<int>::max();
  return static_cast<int>(std::clamp<Duration::rep>(left.count(), 0, kMost));
}

void wake(int event) {
  const std::uint64_t one = 1;
  // Fails only if the counter is full, and then it is readable already.
  [[maybe_unused]] const ssize_t written = ::write(event, &one, sizeof one);
}

void clear(int event) {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(event, &count, sizeof count);
}

}  // namespace

Until Until::within(Duration from_now) const {
  const TimePoint now = std::chrono::steady_clock::now();
  return deadline - now <= from_now ? *this : Until{stop, now + from_now};
}

Result<void> Until::check() const {
  if (stop.stop_requested()) {
    return cancelled();
  }
  if (std::chrono::steady_clock::now() >= deadline) {
    return timed_out();
  }
  return {};
}

Error cancelled() {
  return {ErrorCode::Cancelled, "stopped"};
}

Error timed_out() {
  return {ErrorCode::Unavailable, "timed out"};
}

Result<void> sleep_for(Duration time, const Until& until) {
  const TimePoint end = until.within(time).deadline;
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any never;  // Only the stop token or the clock ends the wait.
  never.wait_until(lock, until.stop, end, [] { return false; });
  return until.check();
}

Waiter::Waiter()
    : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Result<void> Waiter::wait(int fd, short events, const Until& until) const {
  if (!wake_) {
    return system_error("eventfd", EMFILE);
  }
  const std::stop_callback on_stop(until.stop, [this] { wake(wake_.get()); });
  for (;;) {
    INJ_TRY(until.check());
    std::array<pollfd, 2> polled{{{fd, events, 0}, {wake_.get(), POLLIN, 0}}};
    const int ready = ::poll(polled.data(), polled.size(), poll_timeout(until.deadline));
    if (ready < 0 && errno != EINTR) {
      return system_error("poll", errno);
    }
    if (ready > 0 && polled[0].revents != 0) {
      return {};
    }
    clear(wake_.get());  // The stop of an earlier wait that came too late for it.
  }
}

Error system_error(std::string_view what, int number) {
  return {ErrorCode::Unavailable,
          std::string(what) + ": " + std::generic_category().message(number)};
}

}  // namespace injector::base
