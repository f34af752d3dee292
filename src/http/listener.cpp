#include "http/listener.h"

#include <cerrno>
#include <charconv>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <optional>
#include <sys/socket.h>
#include <system_error>
#include <utility>

namespace injector::http {
namespace {

using base::Result;

struct FreeAddresses {
  void operator()(addrinfo* list) const noexcept { ::freeaddrinfo(list); }
};

using AddressList = std::unique_ptr<addrinfo, FreeAddresses>;

std::optional<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, port);
  return error == std::errc() && stopped == end && !text.empty() ? std::optional(port)
                                                                 : std::nullopt;
}

/// Splits "[::1]" or "host" into the bare host; nothing if the brackets do not fit.
std::optional<std::string> parse_host(std::string_view text) {
  const bool bracketed = text.size() >= 2 && text.front() == '[' && text.back() == ']';
  if (bracketed) {
    text = text.substr(1, text.size() - 2);
  }
  const bool has_colon = text.find(':') != std::string_view::npos;
  if (has_colon != bracketed || text.find_first_of("[]/ ") != std::string_view::npos) {
    return std::nullopt;
  }
  return std::string(text);
}

base::Error system_error(std::string_view what, int error) {
  return base::annotate(
      base::Error{base::ErrorCode::Unavailable, std::generic_category().message(error)}, what);
}

Result<AddressList> resolve(const ListenAddress& address, int family) {
  addrinfo hints{};
  hints.ai_family = family;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const std::string port = std::to_string(address.port);
  const char* host = address.host.empty() ? nullptr : address.host.c_str();
  if (const int error = ::getaddrinfo(host, port.c_str(), &hints, &list); error != 0) {
    return base::Error{base::ErrorCode::InvalidInput, ::gai_strerror(error)};
  }
  return AddressList(list);
}

void set_option(int socket, int level, int option, int value) {
  ::setsockopt(socket, level, option, &value, sizeof value);
}

Result<base::FileDescriptor> bind_to(const addrinfo& address) {
  base::FileDescriptor socket(
      ::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) {
    return system_error("socket", errno);
  }
  set_option(socket.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (address.ai_family == AF_INET6) {
    set_option(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
  }
  if (::bind(socket.get(), address.ai_addr, address.ai_addrlen) != 0) {
    return system_error("bind", errno);
  }
  if (::listen(socket.get(), SOMAXCONN) != 0) {
    return system_error("listen", errno);
  }
  return socket;
}

Result<base::FileDescriptor> bind_to_family(const ListenAddress& address, int family) {
  INJ_ASSIGN(auto list, resolve(address, family));
  return bind_to(*list);
}

Result<base::FileDescriptor> bind_to(const ListenAddress& address) {
  if (!address.host.empty()) {
    return bind_to_family(address, AF_UNSPEC);
  }
  // One IPv6 socket serves both; where the kernel has no IPv6 at all, IPv4 must do.
  auto socket = bind_to_family(address, AF_INET6);
  const bool no_ipv6 =
      !socket && base::FileDescriptor(::socket(AF_INET6, SOCK_STREAM, 0)).get() < 0;
  return no_ipv6 ? bind_to_family(address, AF_INET) : std::move(socket);
}

std::uint16_t bound_port(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  return address.ss_family == AF_INET6
             ? ntohs(reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port)
             : ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

}  // namespace

Result<ListenAddress> parse_listen_address(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    return base::invalid("\"" + std::string(text) + "\" has no port: write host:port or :port");
  }
  const auto port = parse_port(text.substr(colon + 1));
  if (!port) {
    return base::invalid("\"" + std::string(text) + "\" has no port between 0 and 65535");
  }
  auto host = parse_host(text.substr(0, colon));
  if (!host) {
    return base::invalid("\"" + std::string(text) +
                         "\" has no usable host: an IPv6 address goes in [brackets]");
  }
  return ListenAddress{*std::move(host), *port};
}

Result<Listener> listen_on(std::string_view address) {
  const std::string what = "listen on " + std::string(address);
  auto parsed = parse_listen_address(address);
  if (!parsed) {
    return base::annotate(parsed.error(), what);
  }
  auto socket = bind_to(parsed.value());
  if (!socket) {
    return base::annotate(socket.error(), what);
  }
  const std::uint16_t port = bound_port(socket.value().get());
  return Listener{std::move(socket).value(), port};
}

base::FileDescriptor accept_from(const Listener& listener) noexcept {
  base::FileDescriptor socket(
      ::accept4(listener.socket.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (socket) {
    set_option(socket.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  }
  return socket;
}

}  // namespace injector::http
