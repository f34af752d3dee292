// What a server is told, and what it tells of itself.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/clock.h"

namespace injector::http {

/// Times are totals: a client that sends a byte now and then does not gain any.
struct ServerLimits {
  base::Duration handshake = std::chrono::seconds(10);  // From accept to the end of the handshake.
  base::Duration head = std::chrono::seconds(10);  // From a request's first byte to its blank line.
  base::Duration body = std::chrono::seconds(30);
  base::Duration reply = std::chrono::seconds(30);
  base::Duration idle = std::chrono::seconds(120);      // The API server closes its own after 90 s.
  base::Duration heartbeat = std::chrono::seconds(15);  // On a stream that is silent.
  base::Duration linger = std::chrono::seconds(2);      // For the client to close after we did.
  std::size_t head_bytes = std::size_t{64} << 10U;
  std::size_t body_bytes = std::size_t{8} << 20U;
  /// Of all bodies together, not counting the first 32 KiB of each. A body that does not fit is
  /// answered 429. At least one body always fits.
  std::size_t body_bytes_in_flight = std::size_t{64} << 20U;
};

struct ServerOptions {
  std::string name = "webhook";  // In log lines.
  std::string listen = ":8443";  // host:port; no host: every address; port 0: any free one.
  std::size_t max_connections = 1024;
  std::size_t threads = 0;            // Event loops; 0: one for each CPU this process may use.
  std::size_t blocking_threads = 64;  // For handlers that may block, at most.
  ServerLimits limits{};
};

struct ServerStats {
  std::size_t connections = 0;  // Open now.
  std::size_t idle = 0;         // Of these, without a request under way.
  std::size_t threads = 0;      // Event loops and threads for handlers that block.
  std::uint64_t accepted = 0;
  std::uint64_t requests = 0;  // Answered, refusals included.
  std::uint64_t handshake_failures = 0;
  std::uint64_t evicted = 0;         // Closed to make room for others.
  std::uint64_t refused_bodies = 0;  // 429: too many body bytes in flight.
  std::size_t body_bytes_in_flight = 0;
};

}  // namespace injector::http
