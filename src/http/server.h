// The HTTP(S) server under the webhook and the admin port.
//
//   http::Server server(options, routes, &certificate, log);
//   if (auto started = server.start(); !started) ...
//   ... SIGTERM: health.set_draining(); server.begin_drain(); wait --shutdown-delay;
//   server.stop(std::chrono::seconds(30));
//
// Threads
// - Event loops, one for each CPU by default. Each has its own connections, reads and answers what
//   they send, and waits for none of them; handshakes, slow clients and idle connections cost no
//   thread. The first one also accepts.
// - A route with a stream (http::Route::stream) sends what is published, for as long as the client
//   listens. Such connections cost no thread, and go before those with a request under way where
//   room is needed.
// - Handlers that may block (http::Route::may_block) run on threads that come and go with the need.
//
// Limits
// - Handshake, request head, request body and reply each have a total time, however the bytes
//   dribble.
// - At `max_connections`, or when descriptors run out, a new connection takes the place of one that
//   can be spared: the one that has been in its handshake for longest, then the longest idle, then
//   the slowest. While every connection is being answered, new ones wait in the kernel's backlog.
// - The body bytes in memory are bounded over all requests; beyond, 429 with Retry-After.
// - A refused request (4xx, 5xx of the server itself) ends its connection, since its body was not
//   read; the reply arrives before the connection is reset.
//
// start, begin_drain and stop belong to one thread (or take turns); the queries may come from any.

#pragma once

#include <cstdint>
#include <memory>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "http/message.h"
#include "http/options.h"
#include "tls/serving_certificate.h"

namespace injector::http {

class Server {
 public:
  /// `certificate` null: plain HTTP. Not owned; outlives the server.
  Server(ServerOptions options, Routes routes, tls::ServingCertificate* certificate,
         base::Logger log);

  /// Stops at once if it was not stopped.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Binds and serves, with as many open files as the process may have. Fails if the address cannot
  /// be used; says which and why.
  [[nodiscard]] base::Result<void> start();

  /// The port it listens on; 0 before start().
  [[nodiscard]] std::uint16_t port() const noexcept;

  /// From now on every reply says `Connection: close`. New connections and requests are still
  /// answered: clients move away one by one, and none sees a failure.
  void begin_drain() noexcept;

  /// Stops listening, closes idle connections, finishes what is in flight, joins all threads. What
  /// is not finished after `grace` is cut off. Returns true if nothing was.
  bool stop(base::Duration grace);

  [[nodiscard]] ServerStats stats() const;

 private:
  class Loops;
  std::unique_ptr<Loops> loops_;
};

}  // namespace injector::http
