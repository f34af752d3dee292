// One thread that serves many connections: it reads what has come, answers it, and never waits for
// one of them. See http/server.h for what the server promises.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <sys/epoll.h>
#include <vector>

#include "base/clock.h"
#include "base/file_descriptor.h"
#include "base/log.h"
#include "base/mutex.h"
#include "http/blocking_pool.h"
#include "http/connection.h"
#include "http/conversation.h"
#include "http/engine.h"
#include "http/options.h"
#include "http/wakeup.h"
#include "tls/serving_certificate.h"

namespace injector::http {

/// What the loops of a server share. Thread-safe.
struct LoopShared {
  const ServerOptions& options;
  tls::ServingCertificate* certificate;  // Null: plain HTTP.
  Service& service;
  BlockingPool& pool;

  std::atomic<std::size_t> connections{0};
  std::atomic<std::uint64_t> handshake_failures{0};
  std::atomic<std::uint64_t> evicted{0};

  std::atomic<bool> stopping{false};
  std::atomic<bool> listening{true};
  std::atomic<bool> cut_short{false};  // stop() ran out of time.
  base::TimePoint stop_began{};        // Written before `stopping` is set,
  base::TimePoint stop_deadline{};     // as is this.

  std::atomic<bool> starved{false};  // Somebody waits to be accepted for want of room.
  std::function<void()> on_room{};   // Called when there is some; from any loop's thread.
};

class EventLoop {
 public:
  static constexpr std::uint64_t kNothingToEvict = ~std::uint64_t{0};

  explicit EventLoop(LoopShared& shared);

  /// False: there are no descriptors left.
  [[nodiscard]] bool ready() const noexcept;

  /// Watches a listening socket: `accept` is called on the loop's thread when a client waits, and
  /// at every turn while `starved` or `stopping`. Before run().
  void accept_with(int listener, std::function<void()> accept);
  /// The loop's thread: on or off.
  void watch_listener(bool on);

  /// Serves until the server stops and everything has been closed.
  void run();

  // From any thread.

  void wake() noexcept { wakeup_->wake(); }

  /// Serves this connection, which has been counted.
  void adopt(base::FileDescriptor socket) INJ_EXCLUDES(mutex_);

  /// Closes the connection that can best be spared, if there is one.
  void request_eviction() noexcept;

  /// How well a connection of this loop can be spared; the least of all loops is the one to go.
  [[nodiscard]] std::uint64_t eviction_rank() const noexcept { return rank_; }

  [[nodiscard]] std::size_t connections() const noexcept { return open_; }

  /// True if it has adopted connections that it has not looked at yet, nor ranked.
  [[nodiscard]] bool has_newcomers() const noexcept { return newcomer_count_ > 0; }

  [[nodiscard]] std::size_t idle() const noexcept { return idle_; }

  /// The loop's thread: the same at once. False: there is none.
  [[nodiscard]] bool evict_one();

 private:
  struct Completion {
    Connection* connection;
    Reply reply;
  };

  // One turn.
  void await_events();
  void take_inbox() INJ_EXCLUDES(mutex_);
  void feed_streams();
  void run_events();
  void run_runnable();
  void meet_deadlines();
  void close_for_stop();
  void publish();
  [[nodiscard]] bool reported(std::uint64_t tag) const noexcept;
  [[nodiscard]] int patience();
  [[nodiscard]] bool finished();

  // One connection.
  void attend(Connection& connection);
  template <class Call>
  void guarded(Connection& connection, const Call& call);
  void shake_hands(Connection& connection);
  void fail_handshake(Connection& connection, const base::Error& error);
  void receive(Connection& connection);
  void send_rest(Connection& connection);
  void send(Connection& connection);
  void settle(Connection& connection);
  void block(Connection& connection);
  void follow(Connection& connection);
  void complete(const Completion& completion);
  void run_out_of_time(Connection& connection);
  void say_goodbye(Connection& connection);
  void close(Connection& connection);
  void forget_one();
  void make_runnable(Connection& connection);
  void read_what_waited(Connection& connection);
  void watch(Connection& connection, std::uint32_t interest);
  void add(base::FileDescriptor socket);
  [[nodiscard]] base::Duration limit_of(Phase phase) const noexcept;
  void close_quiet(Phase phase);

  LoopShared& shared_;
  Engine engine_;
  const base::Logger& log_;
  base::FileDescriptor epoll_;
  const std::shared_ptr<Wakeup> wakeup_ = std::make_shared<Wakeup>();
  int listener_ = -1;
  bool listener_watched_ = false;
  std::function<void()> accept_;
  bool listener_ready_ = false;  // In this turn,
  bool woken_ = false;           // as is this.

  base::TimePoint now_{};  // Of this turn.
  std::array<epoll_event, 64> events_{};
  std::size_t event_count_ = 0;
  ConnectionLists lists_;
  std::vector<Connection*> runnable_;
  std::string scratch_;  // Read into,
  std::string out_;      // and written from.

  std::atomic<std::uint64_t> rank_{kNothingToEvict};
  std::atomic<std::size_t> open_{0};
  std::atomic<std::size_t> newcomer_count_{0};
  std::atomic<std::size_t> idle_{0};
  std::atomic<bool> eviction_requested_{false};

  base::Mutex mutex_;
  std::vector<base::FileDescriptor> newcomers_ INJ_GUARDED_BY(mutex_);
  std::vector<Completion> completions_ INJ_GUARDED_BY(mutex_);
};

}  // namespace injector::http
