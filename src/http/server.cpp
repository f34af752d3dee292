#include "http/server.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "http/acceptor.h"
#include "http/blocking_pool.h"
#include "http/cpus.h"
#include "http/event_loop.h"
#include "http/listener.h"

namespace injector::http {

using base::Result;

class Server::Loops {
 public:
  Loops(ServerOptions options, Routes routes, tls::ServingCertificate* certificate,
        base::Logger log)
      : options_(std::move(options)),
        service_{
            std::move(routes), options_.limits, std::move(log),
            BodyBudget(std::max(options_.limits.body_bytes_in_flight, options_.limits.body_bytes))},
        pool_(options_.blocking_threads, service_.log),
        shared_{options_, certificate, service_, pool_} {}

  ~Loops() { stop(base::Duration::zero()); }

  Loops(const Loops&) = delete;
  Loops& operator=(const Loops&) = delete;

  Result<void> start();
  bool stop(base::Duration grace);

  void begin_drain() noexcept { service_.draining = true; }

  [[nodiscard]] std::uint16_t port() const noexcept { return acceptor_ ? acceptor_->port() : 0; }

  [[nodiscard]] ServerStats stats() const;

 private:
  void wake_all() noexcept;

  const ServerOptions options_;
  Service service_;
  BlockingPool pool_;
  LoopShared shared_;
  std::vector<std::unique_ptr<EventLoop>> loops_;
  std::optional<Acceptor> acceptor_;
  std::atomic<std::size_t> running_{0};
  std::vector<std::jthread> threads_;
};

Result<void> Server::Loops::start() {
  raise_file_limit();
  INJ_ASSIGN(auto listener, listen_on(options_.listen));
  const std::size_t count = options_.threads > 0 ? options_.threads : available_cpus();
  for (std::size_t i = 0; i < count; ++i) {
    loops_.push_back(std::make_unique<EventLoop>(shared_));
    if (!loops_.back()->ready()) {
      return base::Error{base::ErrorCode::Unavailable, "no file descriptors left"};
    }
  }
  EventLoop& first = *loops_.front();
  acceptor_.emplace(std::move(listener), loops_, shared_);
  shared_.on_room = [&first] { first.wake(); };
  first.accept_with(acceptor_->fd(), [this] { acceptor_->accept(); });
  for (const auto& loop : loops_) {
    threads_.emplace_back([&loop] { loop->run(); });
  }
  running_ = threads_.size();
  service_.log.info("listening", {{"server", options_.name},
                                  {"address", options_.listen},
                                  {"port", port()},
                                  {"threads", threads_.size()}});
  return {};
}

bool Server::Loops::stop(base::Duration grace) {
  if (threads_.empty()) {
    return true;
  }
  service_.draining = true;
  shared_.stop_began = std::chrono::steady_clock::now();
  shared_.stop_deadline = shared_.stop_began + grace;
  shared_.stopping = true;
  wake_all();
  threads_.clear();
  running_ = 0;
  pool_.stop();
  service_.log.info("stopped",
                    {{"server", options_.name}, {"cut_short", shared_.cut_short.load()}});
  return !shared_.cut_short;
}

void Server::Loops::wake_all() noexcept {
  for (const auto& loop : loops_) {
    loop->wake();
  }
}

ServerStats Server::Loops::stats() const {
  ServerStats stats;
  stats.connections = shared_.connections;
  for (const auto& loop : loops_) {
    stats.idle += loop->idle();
  }
  stats.threads = running_ + pool_.threads();
  stats.accepted = acceptor_ ? acceptor_->accepted() : 0;
  stats.requests = service_.requests;
  stats.handshake_failures = shared_.handshake_failures;
  stats.evicted = shared_.evicted;
  stats.refused_bodies = service_.refused_bodies;
  stats.body_bytes_in_flight = service_.bodies.used();
  return stats;
}

Server::Server(ServerOptions options, Routes routes, tls::ServingCertificate* certificate,
               base::Logger log)
    : loops_(std::make_unique<Loops>(std::move(options), std::move(routes), certificate,
                                     std::move(log))) {}

Server::~Server() = default;

Result<void> Server::start() {
  return loops_->start();
}

std::uint16_t Server::port() const noexcept {
  return loops_->port();
}

void Server::begin_drain() noexcept {
  loops_->begin_drain();
}

bool Server::stop(base::Duration grace) {
  return loops_->stop(grace);
}

ServerStats Server::stats() const {
  return loops_->stats();
}

}  // namespace injector::http
