// Listening sockets: an address as users write it, bound and ready to accept.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/file_descriptor.h"
#include "base/result.h"

namespace injector::http {

struct ListenAddress {
  std::string host;        // Empty: every address of the machine, IPv6 and IPv4.
  std::uint16_t port = 0;  // 0: any free port.
};

/// ":8443", "127.0.0.1:0", "[::1]:8443", "localhost:8443".
[[nodiscard]] base::Result<ListenAddress> parse_listen_address(std::string_view text);

struct Listener {
  base::FileDescriptor socket;  // Non-blocking.
  std::uint16_t port = 0;       // The bound one.
};

/// Fails with the address and the reason: "listen on :8443: Address already in use".
[[nodiscard]] base::Result<Listener> listen_on(std::string_view address);

/// The next connection, non-blocking and without Nagle's delay. None: errno says why.
[[nodiscard]] base::FileDescriptor accept_from(const Listener& listener) noexcept;

}  // namespace injector::http
