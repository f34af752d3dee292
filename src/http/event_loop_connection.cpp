// What an event loop does with one connection.

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "http/event_loop.h"

namespace injector::http {
namespace {

// A comment, which clients skip; a client that is gone is found out by it.
constexpr std::string_view kHeartbeat = ":\n\n";

constexpr std::size_t kKeptOutput = std::size_t{256} << 10U;
// A client that sends without end gets this many reads before others have their turn.
constexpr int kReadsPerTurn = 16;

std::uint64_t tag_of(Connection& connection) noexcept {
  return reinterpret_cast<std::uintptr_t>(&connection);
}

/// True if the connection waits for input.
bool reads(Phase phase) noexcept {
  return phase == Phase::Fresh || phase == Phase::FirstHead || phase == Phase::Idle ||
         phase == Phase::Head || phase == Phase::Body;
}

}  // namespace

void EventLoop::add(base::FileDescriptor socket) {
  const Phase phase = shared_.certificate != nullptr ? Phase::Handshake : Phase::Fresh;
  Connection& connection = lists_.add(
      std::make_unique<Connection>(std::move(socket), shared_.service, engine_), phase, now_);
  epoll_event event{};
  event.events = connection.interest = EPOLLIN;
  event.data.u64 = tag_of(connection);
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, connection.stream.fd(), &event) != 0) {
    close(connection);
  }
}

void EventLoop::attend(Connection& connection) {
  switch (connection.phase) {
    case Phase::Handshake:
      return shake_hands(connection);
    case Phase::Closing:
    case Phase::Streaming:
      return connection.stream.discard_input() ? close(connection) : void();
    case Phase::Reply:
      return send_rest(connection);
    case Phase::Busy:
      // Nothing is watched but hang-ups. The answer is still on its way here.
      connection.gone = true;
      ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, connection.stream.fd(), nullptr);
      return;
    case Phase::Dead:
      return;
    case Phase::Fresh:
    case Phase::FirstHead:
    case Phase::Idle:
    case Phase::Head:
    case Phase::Body:
      return receive(connection);
  }
}

void EventLoop::shake_hands(Connection& connection) {
  Stream& stream = connection.stream;
  if (!stream.secured() && !stream.secure(shared_.certificate->context()->start(stream.fd()))) {
    return close(connection);
  }
  switch (stream.handshake()) {
    case Stream::Io::Done:
      lists_.move(connection, Phase::Fresh, now_);
      watch(connection, EPOLLIN);
      return stream.has_pending() ? receive(connection) : void();
    case Stream::Io::WantRead:
      return watch(connection, EPOLLIN);
    case Stream::Io::WantWrite:
      return watch(connection, EPOLLOUT);
    case Stream::Io::Closed:
      return fail_handshake(connection, stream.handshake_error());
  }
}

void EventLoop::fail_handshake(Connection& connection, const base::Error& error) {
  ++shared_.handshake_failures;
  if (connection.stream.speaks_plain_http()) {
    connection.stream.send_in_the_clear(closing_reply(400, "this port speaks HTTPS"));
  }
  if (log_.enabled(base::LogLevel::Debug)) {
    log_.debug("TLS handshake failed", {{"server", shared_.options.name},
                                        {"client", connection.stream.peer()},
                                        {"error", error.message}});
  }
  say_goodbye(connection);
}

void EventLoop::receive(Connection& connection) {
  for (int i = 0; i < kReadsPerTurn; ++i) {
    std::size_t count = 0;
    const Stream::Io result = connection.stream.read(scratch_.data(), scratch_.size(), count);
    if (result == Stream::Io::Closed) {
      say_goodbye(connection);
      return close(connection);
    }
    if (result != Stream::Io::Done) {
      return watch(connection, result == Stream::Io::WantRead ? EPOLLIN : EPOLLOUT);
    }
    connection.conversation.take(std::string_view(scratch_).substr(0, count), out_);
    send(connection);
    const bool more = connection.stream.has_pending() || count == scratch_.size();
    if (!reads(connection.phase) || !more) {
      return;
    }
  }
  make_runnable(connection);
}

/// Sends out_, at once if it goes, and moves the connection on.
void EventLoop::send(Connection& connection) {
  std::size_t sent = 0;
  const Stream::Io result = out_.empty() ? Stream::Io::Done : connection.stream.write(out_, sent);
  if (result == Stream::Io::Done) {
    out_.clear();
    if (out_.capacity() > kKeptOutput) {
      out_.shrink_to_fit();
    }
    return settle(connection);
  }
  connection.out = std::exchange(out_, {});
  connection.sent = sent;
  if (result == Stream::Io::Closed) {
    return close(connection);
  }
  lists_.move(connection, Phase::Reply, now_);
  watch(connection, result == Stream::Io::WantRead ? EPOLLIN : EPOLLOUT);
}

void EventLoop::send_rest(Connection& connection) {
  std::size_t sent = 0;
  const std::string_view rest = std::string_view(connection.out).substr(connection.sent);
  const Stream::Io result = connection.stream.write(rest, sent);
  connection.sent += sent;
  if (result == Stream::Io::Closed) {
    return close(connection);
  }
  if (result != Stream::Io::Done) {
    return watch(connection, result == Stream::Io::WantRead ? EPOLLIN : EPOLLOUT);
  }
  std::string().swap(connection.out);
  connection.sent = 0;
  settle(connection);
  read_what_waited(connection);
}

/// Input that TLS held back while nobody read.
void EventLoop::read_what_waited(Connection& connection) {
  if (reads(connection.phase) && connection.stream.has_pending()) {
    make_runnable(connection);
  }
}

/// Everything has been sent: what the conversation makes of it.
void EventLoop::settle(Connection& connection) {
  Conversation& conversation = connection.conversation;
  if (conversation.paused()) {
    conversation.take({}, out_);
    return send(connection);
  }
  Phase phase = Phase::Idle;
  switch (conversation.stage()) {
    case Conversation::Stage::Over:
      return say_goodbye(connection);
    case Conversation::Stage::Waiting:
      return block(connection);
    case Conversation::Stage::Streaming:
      return follow(connection);
    case Conversation::Stage::Idle:
      phase = conversation.replies() == 0 ? Phase::Fresh : Phase::Idle;
      break;
    case Conversation::Stage::Head:
      phase = conversation.replies() == 0 ? Phase::FirstHead : Phase::Head;
      break;
    case Conversation::Stage::Body:
      phase = Phase::Body;
      break;
  }
  if (phase != connection.phase || conversation.replies() != connection.answered) {
    connection.answered = conversation.replies();
    lists_.move(connection, phase, now_);
  }
  watch(connection, EPOLLIN);
}

/// Has the request answered by a thread that may block.
void EventLoop::block(Connection& connection) {
  lists_.move(connection, Phase::Busy, now_);
  watch(connection, 0);
  shared_.pool.run([this, &connection, work = connection.conversation.take_work()] {
    Completion completion{&connection, run_handler(work, log_)};
    {
      const base::MutexLock lock(mutex_);
      completions_.push_back(std::move(completion));
    }
    wake();
  });
}

/// What the stream has for this client is sent from the next turn on.
void EventLoop::follow(Connection& connection) {
  if (!connection.follower) {
    connection.follower.emplace(connection.conversation.stream(), wakeup_);
  }
  lists_.move(connection, Phase::Streaming, now_);
  watch(connection, EPOLLIN);
  if (connection.follower->has_news()) {
    wake();
  }
}

void EventLoop::complete(const Completion& completion) {
  Connection& connection = *completion.connection;
  if (connection.gone) {
    return close(connection);
  }
  connection.conversation.answer(completion.reply, out_);
  send(connection);
  read_what_waited(connection);
}

void EventLoop::run_out_of_time(Connection& connection) {
  switch (connection.phase) {
    case Phase::Handshake:
      fail_handshake(connection, base::Error{base::ErrorCode::Unavailable, "timed out"});
      return close(connection);
    case Phase::Fresh:
    case Phase::Idle:
      say_goodbye(connection);
      return close(connection);
    case Phase::FirstHead:
    case Phase::Head:
    case Phase::Body:
      connection.conversation.time_out(out_);
      return send(connection);
    case Phase::Streaming:
      out_ = kHeartbeat;
      return send(connection);
    case Phase::Closing:
    case Phase::Reply:
    case Phase::Busy:
    case Phase::Dead:
      return close(connection);
  }
}

/// The client has a while to take what was sent, and to close as well.
void EventLoop::say_goodbye(Connection& connection) {
  connection.stream.say_goodbye();
  lists_.move(connection, Phase::Closing, now_);
  watch(connection, EPOLLIN);
}

void EventLoop::close(Connection& connection) {
  if (connection.phase == Phase::Dead) {
    return;
  }
  connection.stream.close();
  connection.follower.reset();
  lists_.move(connection, Phase::Dead, now_);
  if (connection.runnable) {
    runnable_.erase(std::find(runnable_.begin(), runnable_.end(), &connection));
    connection.runnable = false;
  }
  forget_one();
}

void EventLoop::forget_one() {
  --open_;
  --shared_.connections;
  if (shared_.starved) {
    shared_.on_room();
  }
}

/// It holds input that epoll will not tell of.
void EventLoop::make_runnable(Connection& connection) {
  if (!connection.runnable) {
    connection.runnable = true;
    runnable_.push_back(&connection);
  }
}

void EventLoop::watch(Connection& connection, std::uint32_t interest) {
  if (connection.interest == interest) {
    return;
  }
  connection.interest = interest;
  epoll_event event{};
  event.events = interest;
  event.data.u64 = tag_of(connection);
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, connection.stream.fd(), &event);
}

base::Duration EventLoop::limit_of(Phase phase) const noexcept {
  const ServerLimits& limits = shared_.options.limits;
  switch (phase) {
    case Phase::Closing:
      return limits.linger;
    case Phase::Handshake:
      return limits.handshake;
    case Phase::Fresh:
    case Phase::Idle:
      return limits.idle;
    case Phase::FirstHead:
    case Phase::Head:
      return limits.head;
    case Phase::Body:
      return limits.body;
    case Phase::Reply:
      return limits.reply;
    case Phase::Streaming:
      return limits.heartbeat;
    case Phase::Busy:
    case Phase::Dead:
      break;
  }
  return std::chrono::hours(24 * 365);
}

}  // namespace injector::http
