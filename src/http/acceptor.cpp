#include "http/acceptor.h"

#include <algorithm>
#include <cerrno>
#include <poll.h>
#include <system_error>
#include <utility>

namespace injector::http {
namespace {

// The clients that are there have their turn as well.
constexpr int kAcceptsPerTurn = 64;

bool is_exhaustion(int error) noexcept {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

}  // namespace

Acceptor::Acceptor(Listener listener, Loops& loops, LoopShared& shared)
    : listener_(std::move(listener)),
      loops_(loops),
      shared_(shared) {}

void Acceptor::accept() {
  bool starved = false;
  for (int i = 0; i < kAcceptsPerTurn && !starved && somebody_waits(); ++i) {
    const bool full = shared_.connections >= shared_.options.max_connections;
    // A newcomer may be the one that can best be spared: nobody is until all are known.
    starved = (full && (newcomers_unknown() || !make_room())) || !accept_one();
  }
  set_starved(starved);
  if (shared_.stopping && (starved || !somebody_waits())) {
    listener_.socket.reset();
    shared_.starved = false;
    shared_.listening = false;
  }
}

bool Acceptor::newcomers_unknown() const noexcept {
  return std::any_of(loops_.begin(), loops_.end(),
                     [](const auto& loop) { return loop->has_newcomers(); });
}

bool Acceptor::somebody_waits() const noexcept {
  pollfd listening{listener_.socket.get(), POLLIN, 0};
  return listener_.socket && ::poll(&listening, 1, 0) > 0;
}

/// False if the process or the machine is out of something, and nothing could be done about it.
bool Acceptor::accept_one() {
  base::FileDescriptor socket = accept_from(listener_);
  if (!socket && is_exhaustion(errno)) {
    report_exhaustion(errno);
    return make_room();
  }
  if (!socket) {
    return true;  // The client gave up while it waited.
  }
  exhausted_ = false;
  ++accepted_;
  ++shared_.connections;
  const auto least =
      std::min_element(loops_.begin(), loops_.end(), [](const auto& left, const auto& right) {
        return left->connections() < right->connections();
      });
  (*least)->adopt(std::move(socket));
  return true;
}

/// True if a connection has been closed; a loop that closes one later lets us know.
bool Acceptor::make_room() {
  const auto spared =
      std::min_element(loops_.begin(), loops_.end(), [](const auto& left, const auto& right) {
        return left->eviction_rank() < right->eviction_rank();
      });
  if (*spared == loops_.front() || (*spared)->eviction_rank() == EventLoop::kNothingToEvict) {
    return first().evict_one();
  }
  (*spared)->request_eviction();
  return false;
}

void Acceptor::report_exhaustion(int error) {
  if (!std::exchange(exhausted_, true)) {
    shared_.service.log.warn(
        "cannot accept connections, closing idle ones",
        {{"server", shared_.options.name}, {"error", std::generic_category().message(error)}});
  }
}

/// A starved loop looks away from the listener, which would only tell it what it knows.
void Acceptor::set_starved(bool starved) {
  shared_.starved = starved;
  first().watch_listener(!starved);
}

}  // namespace injector::http
