// The HTTP(S) server under the webhook and the admin port. cpp-httplib reads and writes HTTP; the
// sockets, the threads and the limits are ours, because a stock httplib server ties a thread to
// every connection and lets a slow client keep it.
//
//   webhook::Server server(options, mutate_routes(handler), &certificate, log);
//   if (auto started = server.start(); !started) ...
//   ... SIGTERM: health.set_draining(); server.begin_drain(); wait --shutdown-delay;
//   server.stop(std::chrono::seconds(30));
//
// Threads
// - One keeper: accepts, closes what has been idle for too long, joins workers that left.
// - Workers: an idle connection is parked in epoll and costs no thread. A worker takes a connection
//   when it is readable, answers what has come in, and parks it again. The last free worker
//   starts another before it goes to work, up to one a connection, so no connection waits for
//   another's slowness. Workers that find nothing to do for a while leave.
//
// Limits
// - Handshake, request head, request body and reply each have a total time, however the bytes
// dribble.
// - At `max_connections` a new connection takes the place of the one parked for longest. While
//   none is parked, new connections wait in the kernel's backlog until one is.
// - A refused request (4xx, 5xx of the server itself) ends its connection, since its body was not
//   read; the reply arrives before the connection is reset.
//
// start, begin_drain and stop belong to one thread (or take turns); the queries may come from any.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "tls/serving_certificate.h"
#include "webhook/http.h"

namespace injector::webhook {

struct ServerLimits {
  base::Duration handshake =
      std::chrono::seconds(10);                    // From accept to the end of the TLS handshake.
  base::Duration head = std::chrono::seconds(10);  // From a request's first byte to its blank line.
  base::Duration body = std::chrono::seconds(30);
  base::Duration reply = std::chrono::seconds(30);
  base::Duration idle =
      std::chrono::seconds(120);  // The API server closes its idle ones after 90 s.
  base::Duration linger = std::chrono::seconds(2);  // For the peer to close after we said goodbye.
  std::size_t head_bytes = std::size_t{64} << 10U;
  std::size_t body_bytes = std::size_t{8} << 20U;
};

struct ServerOptions {
  std::string name = "webhook";  // In log lines.
  std::string listen = ":8443";  // host:port; no host: every address; port 0: any free one.
  std::size_t max_connections = 1024;
  ServerLimits limits{};
};

struct ServerStats {
  std::size_t connections = 0;  // Open now.
  std::size_t parked = 0;       // Of these, waiting for the client without a thread.
  std::size_t workers = 0;
  std::uint64_t accepted = 0;
  std::uint64_t requests = 0;  // Answered, refusals included.
  std::uint64_t handshake_failures = 0;
};

class Server {
 public:
  /// `certificate` null: plain HTTP. Not owned; outlives the server.
  Server(ServerOptions options, Routes routes, tls::ServingCertificate* certificate,
         base::Logger log);

  /// Stops at once if it was not stopped.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Binds and serves. Fails if the address cannot be used; says which and why.
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
  class Pool;
  std::unique_ptr<Pool> pool_;
};

}  // namespace injector::webhook
