#include "http/event_loop.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <exception>
#include <utility>

namespace injector::http {
namespace {

using base::TimePoint;

constexpr std::size_t kScratch = std::size_t{64} << 10U;
constexpr base::Duration kTick = std::chrono::seconds(1);
constexpr base::Duration kShortTick{10};
// When stopping, a client that has just connected gets this long to send its request.
constexpr base::Duration kNewcomerGrace{500};
// A handshake costs more than an admission: requests go first, and wait for so many at the most.
constexpr int kHandshakesPerTurn = 8;
// Of connections that have input, when looking for one to close.
constexpr int kLooks = 16;

// What epoll tells of besides connections.
constexpr std::uint64_t kWakeupTag = 0;
constexpr std::uint64_t kListenerTag = 1;

constexpr std::array<Phase, 9> kEvictable{Phase::Closing,   Phase::Handshake, Phase::Fresh,
                                          Phase::FirstHead, Phase::Idle,      Phase::Streaming,
                                          Phase::Head,      Phase::Body,      Phase::Reply};

Connection* connection_of(const epoll_event& event) noexcept {
  return reinterpret_cast<Connection*>(event.data.u64);  // NOLINT(performance-no-int-to-ptr)
}

/// OpenSSL writes to sockets without saying that it can do without the signal.
void block_broken_pipes() noexcept {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

}  // namespace

EventLoop::EventLoop(LoopShared& shared)
    : shared_(shared),
      log_(shared.service.log),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      scratch_(kScratch, '\0') {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kWakeupTag;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wakeup_->fd(), &event);
}

bool EventLoop::ready() const noexcept {
  return epoll_.get() >= 0 && wakeup_->fd() >= 0;
}

void EventLoop::accept_with(int listener, std::function<void()> accept) {
  listener_ = listener;
  accept_ = std::move(accept);
  epoll_event event{};
  event.data.u64 = kListenerTag;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, listener_, &event);
  watch_listener(true);
}

void EventLoop::watch_listener(bool on) {
  if (on == listener_watched_) {
    return;
  }
  listener_watched_ = on;
  epoll_event event{};
  event.events = on ? EPOLLIN : 0U;
  event.data.u64 = kListenerTag;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, listener_, &event);
}

void EventLoop::adopt(base::FileDescriptor socket) {
  ++open_;
  ++newcomer_count_;
  {
    const base::MutexLock lock(mutex_);
    newcomers_.push_back(std::move(socket));
  }
  wake();
}

void EventLoop::request_eviction() noexcept {
  eviction_requested_ = true;
  wake();
}

/// Want of memory costs a connection, not the process.
template <class Call>
void EventLoop::guarded(Connection& connection, const Call& call) {
  try {
    call();
  } catch (const std::exception& error) {
    log_.error("connection dropped", {{"server", shared_.options.name}, {"error", error.what()}});
    out_.clear();  // Was for this client alone.
    close(connection);
  }
}

void EventLoop::run() {
  block_broken_pipes();
  while (!finished()) {
    publish();
    await_events();
    run_events();
    run_runnable();
    if (woken_) {
      take_inbox();
      feed_streams();
    }
    if (accept_ && (listener_ready_ || shared_.starved || shared_.stopping)) {
      accept_();
    }
    meet_deadlines();
    close_for_stop();
    lists_.of(Phase::Dead).clear();
  }
  publish();
}

void EventLoop::await_events() {
  const int count =
      ::epoll_wait(epoll_.get(), events_.data(), static_cast<int>(events_.size()), patience());
  event_count_ = static_cast<std::size_t>(std::max(count, 0));
  now_ = std::chrono::steady_clock::now();
}

/// Milliseconds until there is something to do without an event.
int EventLoop::patience() {
  if (!runnable_.empty()) {
    return 0;
  }
  const bool hurry = shared_.stopping || (accept_ && shared_.starved);
  const TimePoint now = std::chrono::steady_clock::now();
  TimePoint until = now + (hurry ? kShortTick : kTick);
  for (std::size_t phase = 0; phase < kPhases; ++phase) {
    const Connection::List& list = lists_.of(static_cast<Phase>(phase));
    if (!list.empty()) {
      until = std::min(until, list.front()->since + limit_of(static_cast<Phase>(phase)));
    }
  }
  const auto left = std::chrono::ceil<base::Duration>(until - now).count();
  return static_cast<int>(std::max<std::int64_t>(left, 0));
}

void EventLoop::run_events() {
  int handshakes = 0;
  for (const bool established : {true, false}) {
    for (std::size_t i = 0; i < event_count_; ++i) {
      const epoll_event& event = events_[i];
      if (event.data.u64 == kWakeupTag || event.data.u64 == kListenerTag) {
        continue;
      }
      Connection& connection = *connection_of(event);
      const bool due = established == (connection.phase != Phase::Handshake);
      // What is left for the next turn, epoll tells of again.
      if (due && (established || ++handshakes <= kHandshakesPerTurn)) {
        guarded(connection, [&] { attend(connection); });
      }
    }
  }
  woken_ = reported(kWakeupTag);
  listener_ready_ = reported(kListenerTag);
}

bool EventLoop::reported(std::uint64_t tag) const noexcept {
  const auto end = events_.begin() + static_cast<std::ptrdiff_t>(event_count_);
  return std::any_of(events_.begin(), end,
                     [tag](const epoll_event& event) { return event.data.u64 == tag; });
}

/// Those that had their turn of reads, and hold bytes that epoll does not know.
void EventLoop::run_runnable() {
  std::vector<Connection*> now;
  now.swap(runnable_);
  for (Connection* connection : now) {
    connection->runnable = false;
    guarded(*connection, [&] { attend(*connection); });
  }
}

void EventLoop::take_inbox() {
  std::vector<base::FileDescriptor> newcomers;
  std::vector<Completion> completions;
  wakeup_->clear();
  {
    const base::MutexLock lock(mutex_);
    newcomers.swap(newcomers_);
    completions.swap(completions_);
  }
  for (base::FileDescriptor& socket : newcomers) {
    try {
      add(std::move(socket));
    } catch (const std::exception& error) {
      log_.error("connection dropped", {{"server", shared_.options.name}, {"error", error.what()}});
      forget_one();
    }
  }
  publish();
  newcomer_count_ -= newcomers.size();
  for (const Completion& completion : completions) {
    guarded(*completion.connection, [&] { complete(completion); });
  }
  if (eviction_requested_.exchange(false)) {
    static_cast<void>(evict_one());
  }
}

void EventLoop::feed_streams() {
  std::vector<Connection*> behind;
  for (const auto& connection : lists_.of(Phase::Streaming)) {
    if (connection->follower->has_news()) {
      behind.push_back(connection.get());
    }
  }
  for (Connection* connection : behind) {
    guarded(*connection, [&] {
      out_ = connection->follower->take();
      send(*connection);
    });
  }
}

void EventLoop::meet_deadlines() {
  for (std::size_t phase = 0; phase < kPhases; ++phase) {
    Connection::List& list = lists_.of(static_cast<Phase>(phase));
    const base::Duration limit = limit_of(static_cast<Phase>(phase));
    while (!list.empty() && list.front()->since + limit <= now_) {
      Connection& connection = *list.front();
      // What has just come in is answered.
      if (is_quiet_phase(connection.phase) && connection.stream.has_input()) {
        break;
      }
      guarded(connection, [&] { run_out_of_time(connection); });
    }
  }
}

/// What need not be finished before the server stops.
void EventLoop::close_for_stop() {
  if (!shared_.stopping) {
    return;
  }
  close_quiet(Phase::Idle);
  close_quiet(Phase::Streaming);
  close_quiet(Phase::Closing);
  if (now_ >= shared_.stop_began + kNewcomerGrace) {
    close_quiet(Phase::Fresh);
    close_quiet(Phase::Handshake);
  }
}

void EventLoop::close_quiet(Phase phase) {
  Connection::List& list = lists_.of(phase);
  for (auto at = list.begin(); at != list.end();) {
    Connection& connection = **at;
    ++at;
    if (!connection.stream.has_input()) {
      say_goodbye(connection);
      close(connection);
    }
  }
}

void EventLoop::publish() {
  std::uint64_t rank = kNothingToEvict;
  for (std::size_t i = 0; i < kEvictable.size() && rank == kNothingToEvict; ++i) {
    const Connection::List& list = lists_.of(kEvictable[i]);
    if (!list.empty()) {
      constexpr std::uint64_t kPhaseShift = 60;
      const auto age = list.front()->since.time_since_epoch().count();
      rank = (std::uint64_t{i} << kPhaseShift) | static_cast<std::uint64_t>(age);
    }
  }
  rank_.store(rank, std::memory_order_relaxed);
  idle_.store(lists_.of(Phase::Fresh).size() + lists_.of(Phase::Idle).size(),
              std::memory_order_relaxed);
}

bool EventLoop::finished() {
  if (!shared_.stopping) {
    return false;
  }
  if (now_ >= shared_.stop_deadline && !shared_.listening) {
    shared_.cut_short = shared_.cut_short || lists_.size() > 0;
    for (std::size_t phase = 0; phase + 1 < kPhases; ++phase) {
      Connection::List& list = lists_.of(static_cast<Phase>(phase));
      while (!list.empty()) {
        close(*list.front());
      }
    }
    return true;
  }
  const base::MutexLock lock(mutex_);
  return !shared_.listening && lists_.size() == 0 && newcomers_.empty();
}

bool EventLoop::evict_one() {
  for (const Phase phase : kEvictable) {
    int looks = 0;
    for (const auto& candidate : lists_.of(phase)) {
      Connection& connection = *candidate;
      if (is_quiet_phase(phase) && connection.stream.has_input() && ++looks < kLooks) {
        continue;
      }
      if (phase == Phase::Handshake) {
        ++shared_.handshake_failures;
      }
      ++shared_.evicted;
      close(connection);
      return true;
    }
  }
  return false;
}

}  // namespace injector::http
