// Ports for servers that must be told theirs, and keep it over a restart. A server that can listen
// on port 0 should do that instead.

#pragma once

#include <arpa/inet.h>
#include <atomic>
#include <cstdint>
#include <netinet/in.h>
#include <random>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

namespace injector::tests {

/// Whether a server could listen on the port of 127.0.0.1 now.
inline bool port_is_free(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);  // As servers do.
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool free = ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ::close(fd);
  return free;
}

/// A port of 127.0.0.1 on which nobody listens. It lies below the range from which Linux takes the
/// ports of outgoing connections, so that no client takes it while its server is being restarted. A
/// program gets each port once. Any thread may call it.
inline int free_port() {
  constexpr unsigned kFirst = 20'000;
  constexpr unsigned kCount = 12'000;
  static std::atomic<unsigned> next{std::random_device{}()};
  for (unsigned tried = 0; tried < kCount; ++tried) {
    const int port = static_cast<int>(kFirst + next++ % kCount);
    if (port_is_free(port)) {
      return port;
    }
  }
  throw std::runtime_error("no free port on 127.0.0.1");
}

}  // namespace injector::tests
