#include "webhook/server.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <exception>
#include <limits>
#include <map>
#include <optional>
#include <poll.h>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "webhook/connection.h"
#include "webhook/http_engine.h"
#include "http/listener.h"
#include "webhook/parking.h"
#include "webhook/seats.h"

namespace injector::webhook {
namespace {

using base::Result;
using base::TimePoint;
using http::accept_from;
using http::listen_on;
using http::Listener;

constexpr std::size_t kSpareWorkers = 2;                        // Stay, however quiet it is.
constexpr base::Duration kPatience = std::chrono::seconds(10);  // Of the others.
constexpr base::Duration kTick = std::chrono::seconds(1);
constexpr base::Duration kShortTick{10};  // While something is awaited that rings no bell.
// When stopping, a client that has just connected gets this long to send its request.
constexpr base::Duration kNewcomerGrace{500};
constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

TimePoint now() {
  return std::chrono::steady_clock::now();
}

}  // namespace

class Server::Pool {
 public:
  Pool(ServerOptions options, Routes routes, tls::ServingCertificate* certificate, base::Logger log)
      : options_(std::move(options)),
        routes_(std::move(routes)),
        certificate_(certificate),
        log_(std::move(log)) {}

  ~Pool() { stop(base::Duration::zero()); }

  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  Result<void> start();
  bool stop(base::Duration grace);

  void begin_drain() noexcept { draining_ = true; }

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

  [[nodiscard]] ServerStats stats() const INJ_EXCLUDES(mutex_);

 private:
  using ConnectionPtr = Parking::ConnectionPtr;
  enum class Fate { Wait, SayGoodbye, Close };

  // The keeper's thread.
  void keep();
  void await_event();
  void accept_waiting();
  [[nodiscard]] bool make_room();
  [[nodiscard]] bool accept_one();
  void close_unwanted();
  [[nodiscard]] bool unwanted(const Connection& connection, TimePoint deadline, TimePoint at) const;
  void join_those_who_left() INJ_EXCLUDES(mutex_);
  [[nodiscard]] bool finished() const;
  void send_workers_home();

  // The workers' threads.
  void work(std::uint64_t id);
  void attend(ConnectionPtr connection, HttpEngine& engine);
  [[nodiscard]] Fate serve(Connection& connection, HttpEngine& engine);
  [[nodiscard]] bool secure(Connection& connection);
  [[nodiscard]] Fate refuse(Connection& connection, std::string_view status, std::string_view text);
  void park(ConnectionPtr connection);
  void hire() INJ_EXCLUDES(mutex_);
  [[nodiscard]] bool leave(std::uint64_t id) INJ_EXCLUDES(mutex_);
  void join_workers() INJ_EXCLUDES(mutex_);

  const ServerOptions options_;
  const Routes routes_;
  tls::ServingCertificate* const certificate_;  // Not owned. Null: plain HTTP.
  const base::Logger log_;

  std::uint16_t port_ = 0;
  std::atomic<bool> draining_{false};
  std::atomic<bool> stopping_{false};
  TimePoint stop_began_{};     // Written before stopping_ is set.
  TimePoint stop_deadline_{};  // The same.

  std::atomic<std::uint64_t> accepted_{0};
  std::atomic<std::uint64_t> requests_{0};
  std::atomic<std::uint64_t> handshake_failures_{0};

  http::Listener listener_;       // The keeper's, once it runs.
  bool exhausted_ = false;  // The keeper's: the last accept() failed for want of something.
  bool starved_ = false;    // The keeper's: a client waits in the backlog for a seat.
  bool cut_short_ = false;  // The keeper's: stop() ran out of time.

  Bell cut_off_;  // Rings when every wait of a worker for its client must end.
  Seats seats_;
  Parking parking_;

  std::atomic<std::size_t> free_workers_{0};
  mutable base::Mutex mutex_;
  bool hiring_ INJ_GUARDED_BY(mutex_) = true;
  std::uint64_t last_worker_ INJ_GUARDED_BY(mutex_) = 0;
  std::map<std::uint64_t, std::jthread> workers_ INJ_GUARDED_BY(mutex_);
  std::vector<std::jthread> left_ INJ_GUARDED_BY(mutex_);  // To be joined.
  std::jthread keeper_;
};

Result<void> Server::Pool::start() {
  auto listener = listen_on(options_.listen);
  if (!listener) {
    return listener.error();
  }
  if (!parking_.ready() || cut_off_.fd() < 0 || seats_.bell().fd() < 0) {
    return base::Error{base::ErrorCode::Unavailable, "no file descriptors left"};
  }
  listener_ = std::move(listener).value();
  port_ = listener_.port;
  hire();
  keeper_ = std::jthread([this] { keep(); });
  log_.info("listening",
            {{"server", options_.name}, {"address", options_.listen}, {"port", port_}});
  return {};
}

bool Server::Pool::stop(base::Duration grace) {
  if (!keeper_.joinable()) {
    return true;
  }
  draining_ = true;
  stop_began_ = now();
  stop_deadline_ = stop_began_ + grace;
  stopping_ = true;
  seats_.bell().ring();
  keeper_.join();
  join_workers();
  const auto everyone = [](const Connection&, TimePoint) { return true; };
  parking_.take_if(everyone, kAll).clear();
  log_.info("stopped", {{"server", options_.name}, {"cut_short", cut_short_}});
  return !cut_short_;
}

ServerStats Server::Pool::stats() const {
  ServerStats stats{seats_.taken(), parking_.size(), 0, accepted_, requests_, handshake_failures_};
  const base::MutexLock lock(mutex_);
  stats.workers = workers_.size();
  return stats;
}

// --- The keeper ---

void Server::Pool::keep() {
  while (!finished()) {
    await_event();
    const bool last_call = stopping_;
    accept_waiting();
    if (last_call) {
      listener_.socket.reset();
    }
    close_unwanted();
    join_those_who_left();
    if (certificate_ != nullptr) {
      certificate_->warn_if_expiring(std::chrono::system_clock::now());
    }
  }
  send_workers_home();
}

void Server::Pool::await_event() {
  const TimePoint at = now();
  const bool hurry = starved_ || stopping_;
  const TimePoint until = parking_.next_deadline(at + (hurry ? kShortTick : kTick));
  const auto left = std::chrono::ceil<base::Duration>(until - at);
  // A starved keeper looks away from the listener, which would only tell it what it knows.
  std::array<pollfd, 2> waiting{pollfd{seats_.bell().fd(), POLLIN, 0},
                                pollfd{starved_ ? -1 : listener_.socket.get(), POLLIN, 0}};
  ::poll(waiting.data(), waiting.size(), static_cast<int>(std::max(left, kShortTick).count()));
  seats_.bell().hush();
}

void Server::Pool::accept_waiting() {
  starved_ = false;
  pollfd listening{listener_.socket.get(), POLLIN, 0};
  while (listener_.socket && ::poll(&listening, 1, 0) > 0) {
    if (!make_room() || !accept_one()) {
      starved_ = true;
      return;
    }
  }
}

/// True if there is a seat, if need be because the connection that was quiet for longest gave up
/// its own.
bool Server::Pool::make_room() {
  if (seats_.taken() < options_.max_connections) {
    return true;
  }
  const auto quiet = [](const Connection& connection, TimePoint /*deadline*/) {
    return !connection.has_input();
  };
  return !parking_.take_if(quiet, 1).empty();
}

/// False if the process or the machine is out of something.
bool Server::Pool::accept_one() {
  base::FileDescriptor socket = accept_from(listener_);
  if (socket) {
    exhausted_ = false;
    ++accepted_;
    park(std::make_unique<Connection>(std::move(socket), Seat(seats_), now(), cut_off_.fd()));
    return true;
  }
  const int error = errno;
  const bool exhausted = error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
  if (exhausted && !exhausted_) {
    log_.warn("cannot accept connections",
              {{"server", options_.name}, {"error", std::generic_category().message(error)}});
  }
  exhausted_ = exhausted;
  return !exhausted;  // Otherwise the client gave up while it waited.
}

void Server::Pool::close_unwanted() {
  const TimePoint at = now();
  // Closed by the vector's end, after the parking has been unlocked.
  const auto closed = parking_.take_if(
      [this, at](const Connection& connection, TimePoint deadline) {
        return unwanted(connection, deadline, at);
      },
      kAll);
  for (const ConnectionPtr& connection : closed) {
    if (connection->phase() != Connection::Phase::Closing) {
      connection->say_goodbye(at);
    }
  }
}

bool Server::Pool::unwanted(const Connection& connection, TimePoint deadline, TimePoint at) const {
  if (at < deadline && !stopping_) {
    return false;
  }
  if (at < deadline && connection.phase() == Connection::Phase::New &&
      at < stop_began_ + kNewcomerGrace) {
    return false;
  }
  // What has just come in is a worker's to answer.
  return !connection.has_input();
}

void Server::Pool::join_those_who_left() {
  std::vector<std::jthread> left;  // Before the lock: joined once it has been released.
  const base::MutexLock lock(mutex_);
  left.swap(left_);
}

bool Server::Pool::finished() const {
  return stopping_ && !listener_.socket && (seats_.taken() == 0 || now() >= stop_deadline_);
}

void Server::Pool::send_workers_home() {
  cut_short_ = seats_.taken() > 0;
  cut_off_.ring();
  parking_.dismiss();
}

// --- The workers ---

void Server::Pool::hire() {
  const base::MutexLock lock(mutex_);
  if (!hiring_ || workers_.size() >= options_.max_connections) {
    return;
  }
  const std::uint64_t id = ++last_worker_;
  try {
    workers_.emplace(id, std::jthread([this, id] { work(id); }));
    ++free_workers_;
  } catch (const std::system_error& error) {
    log_.warn("cannot start a worker", {{"server", options_.name}, {"error", error.what()}});
  }
}

/// True if worker `id` is not needed. Its thread is then the keeper's to join.
bool Server::Pool::leave(std::uint64_t id) {
  const base::MutexLock lock(mutex_);
  if (free_workers_.fetch_sub(1) <= kSpareWorkers) {
    ++free_workers_;
    return false;
  }
  auto self = workers_.extract(id);
  left_.push_back(std::move(self.mapped()));
  return true;
}

void Server::Pool::join_workers() {
  std::map<std::uint64_t, std::jthread> workers;
  {
    const base::MutexLock lock(mutex_);
    hiring_ = false;
    workers.swap(workers_);
  }
  workers.clear();
  join_those_who_left();
}

void Server::Pool::work(std::uint64_t id) {
  HttpEngine engine(routes_, options_.limits, draining_, log_);
  while (true) {
    Parking::Taken taken = parking_.take_readable(kPatience);
    if (taken.dismissed || (taken.timed_out && leave(id))) {
      return;
    }
    if (!taken.connection) {
      continue;
    }
    // The last free worker sees to it that the next client finds one, too.
    if (free_workers_.fetch_sub(1) == 1) {
      hire();
    }
    attend(std::move(taken.connection), engine);
    ++free_workers_;
  }
}

void Server::Pool::attend(ConnectionPtr connection, HttpEngine& engine) {
  try {
    const Fate fate = serve(*connection, engine);
    if (fate == Fate::Close) {
      return;
    }
    if (fate == Fate::SayGoodbye) {
      connection->say_goodbye(now() + options_.limits.linger);
    }
    park(std::move(connection));
  } catch (const std::exception& error) {
    log_.error("connection dropped", {{"server", options_.name}, {"error", error.what()}});
  }
}

Server::Pool::Fate Server::Pool::serve(Connection& connection, HttpEngine& engine) {
  if (connection.phase() == Connection::Phase::Closing) {
    return connection.discard_input() ? Fate::Close : Fate::Wait;
  }
  if (certificate_ != nullptr && !connection.secured() && !secure(connection)) {
    return Fate::SayGoodbye;
  }
  while (true) {
    switch (connection.read_head(options_.limits.head_bytes, options_.limits.head)) {
      case Connection::Head::Nothing:
        return Fate::Wait;
      case Connection::Head::Closed:
        return Fate::Close;
      case Connection::Head::TooLarge:
        return refuse(connection, "431 Request Header Fields Too Large", "request head too large");
      case Connection::Head::TimedOut:
        return refuse(connection, "408 Request Timeout", "the request took too long");
      case Connection::Head::Complete:
        break;
    }
    const bool stays = engine.answer(connection);
    ++requests_;
    if (!stays) {
      return Fate::SayGoodbye;
    }
    connection.set_idle(now());
  }
}

bool Server::Pool::secure(Connection& connection) {
  const auto done = connection.handshake(*certificate_->context(),
                                         connection.accepted() + options_.limits.handshake);
  if (done) {
    return true;
  }
  ++handshake_failures_;
  if (connection.speaks_plain_http()) {
    connection.send_in_the_clear(closing_reply("400 Bad Request", "this port speaks HTTPS"));
  }
  if (log_.enabled(base::LogLevel::Debug)) {
    log_.debug("TLS handshake failed", {{"server", options_.name},
                                        {"client", connection.peer()},
                                        {"error", done.error().message}});
  }
  return false;
}

Server::Pool::Fate Server::Pool::refuse(Connection& connection, std::string_view status,
                                        std::string_view text) {
  const std::string reply = closing_reply(status, text);
  connection.write(reply.data(), reply.size());
  ++requests_;
  return connection.flush(now() + options_.limits.reply) ? Fate::SayGoodbye : Fate::Close;
}

void Server::Pool::park(ConnectionPtr connection) {
  // Not from now: a client that sends a byte of a request now and then does not gain time by it.
  TimePoint deadline = connection->idle_since() + options_.limits.idle;
  if (connection->phase() == Connection::Phase::Closing) {
    deadline = connection->closing_deadline();
  } else if (certificate_ != nullptr && !connection->secured()) {
    deadline = connection->accepted() + options_.limits.handshake;
  }
  parking_.park(std::move(connection), deadline);
}

// --- Server ---

Server::Server(ServerOptions options, Routes routes, tls::ServingCertificate* certificate,
               base::Logger log)
    : pool_(std::make_unique<Pool>(std::move(options), std::move(routes), certificate,
                                   std::move(log))) {}

Server::~Server() = default;

Result<void> Server::start() {
  return pool_->start();
}

std::uint16_t Server::port() const noexcept {
  return pool_->port();
}

void Server::begin_drain() noexcept {
  pool_->begin_drain();
}

bool Server::stop(base::Duration grace) {
  return pool_->stop(grace);
}

ServerStats Server::stats() const {
  return pool_->stats();
}

}  // namespace injector::webhook
