#include "http/client_connection.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <utility>

#include <openssl/err.h>

namespace injector::http {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Until;

constexpr base::Duration kConnectTimeout = std::chrono::seconds(10);  // For one address.
constexpr base::Duration kHandshakeTimeout = std::chrono::seconds(10);
constexpr std::size_t kBlock = std::size_t{16} << 10U;

void set_option(int fd, int level, int name, int value) {
  // A socket without the option works too, only less well.
  static_cast<void>(::setsockopt(fd, level, name, &value, sizeof value));
}

void tune(int fd) {
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  // A watch is silent for minutes: find out about a peer that is gone within about a minute.
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 30);
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
  set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 60000);
}

Result<base::FileDescriptor> connect_to(const addrinfo& address, const Until& until) {
  base::FileDescriptor fd(
      ::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) {
    return base::system_error("socket", errno);
  }
  tune(fd.get());
  if (::connect(fd.get(), address.ai_addr, address.ai_addrlen) == 0) {
    return fd;
  }
  if (errno != EINPROGRESS) {
    return base::system_error("connect", errno);
  }
  const base::Waiter waiter;
  if (auto ready = waiter.wait(fd.get(), POLLOUT, until.within(kConnectTimeout)); !ready) {
    return annotate(std::move(ready).error(), "connect");
  }
  int failed = 0;
  socklen_t size = sizeof failed;
  if (::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &failed, &size) != 0 || failed != 0) {
    return base::system_error("connect", failed);
  }
  return fd;
}

/// The first address that answers.
Result<base::FileDescriptor> connect_any(Resolver& resolver, const Url& url, const Until& until) {
  INJ_ASSIGN(const Addresses addresses, resolver.resolve(url, until));
  Result<base::FileDescriptor> fd = Error{ErrorCode::Unavailable, "no address"};
  for (const addrinfo* a = addresses.get(); a != nullptr; a = a->ai_next) {
    fd = connect_to(*a, until);
    if (fd || !until.check()) {
      return fd;
    }
  }
  return fd;
}

}  // namespace

ClientConnection::ClientConnection(base::FileDescriptor socket, tls::ClientContextPtr context)
    : stream_(std::move(socket)),
      context_(std::move(context)) {}

ClientConnection::~ClientConnection() {
  stream_.say_goodbye();
  ERR_clear_error();
}

Result<std::unique_ptr<ClientConnection>> ClientConnection::open(Resolver& resolver,
                                                                 const Destination& to,
                                                                 const Until& until) {
  INJ_TRY(until.check());
  const std::string proxy = to.proxy ? "proxy " + to.proxy->url.text() : "";
  auto socket = connect_any(resolver, to.proxy ? to.proxy->url : to.server, until);
  if (!socket) {
    return annotate(std::move(socket).error(), to.proxy ? proxy : to.server.authority());
  }
  auto connection = std::make_unique<ClientConnection>(std::move(socket).value(), to.context);
  if (to.context == nullptr) {
    return connection;
  }
  const Until soon = until.within(kHandshakeTimeout);
  if (to.proxy) {
    if (auto open = connection->open_tunnel(to.server, *to.proxy, soon); !open) {
      return annotate(std::move(open).error(), proxy);
    }
  }
  if (auto secured = connection->secure(to.name, soon); !secured) {
    return annotate(std::move(secured).error(), to.server.authority());
  }
  return connection;
}

/// Repeats `step`, with waits for the socket between, until it is Done or Closed.
template <class Step>
Result<Stream::Io> ClientConnection::repeat(const Step& step, const Until& until) {
  for (;;) {
    // Also before data that is there: a peer that never pauses must not outrun a stop.
    INJ_TRY(until.check());
    const Stream::Io io = step();
    if (io == Stream::Io::Done || io == Stream::Io::Closed) {
      return io;
    }
    INJ_TRY(waiter_.wait(stream_.fd(), io == Stream::Io::WantRead ? POLLIN : POLLOUT, until));
  }
}

Result<void> ClientConnection::write(std::string_view bytes, const Until& until) {
  const auto step = [&] {
    std::size_t sent = 0;
    const Stream::Io io = stream_.write(bytes, sent);
    bytes.remove_prefix(sent);
    return io;
  };
  INJ_ASSIGN(const Stream::Io io, repeat(step, until));
  return io == Stream::Io::Done ? Result<void>() : Error{ErrorCode::Unavailable, stream_.failure()};
}

Result<void> ClientConnection::read(ResponseParser& response, const Until& until) {
  std::array<char, kBlock> block;  // NOLINT(cppcoreguidelines-pro-type-member-init): written first
  std::size_t got = 0;
  const auto step = [&] { return stream_.read(block.data(), block.size(), got); };
  INJ_ASSIGN(const Stream::Io io, repeat(step, until));
  if (io == Stream::Io::Done) {
    return response.take({block.data(), got});
  }
  return stream_.broken() ? Error{ErrorCode::Unavailable, stream_.failure()} : response.end();
}

bool ClientConnection::healthy() {
  // TLS may have something to read that is not for us, such as a session ticket: only an attempt
  // to read tells.
  char byte = 0;
  std::size_t got = 0;
  return stream_.read(&byte, 1, got) == Stream::Io::WantRead;
}

Result<void> ClientConnection::open_tunnel(const Url& server, const Proxy& proxy,
                                           const Until& until) {
  const std::string to = server.authority();
  const std::string credentials =
      proxy.authorization.empty() ? "" : "Proxy-Authorization: " + proxy.authorization + "\r\n";
  INJ_TRY(
      write("CONNECT " + to + " HTTP/1.1\r\nHost: " + to + "\r\n" + credentials + "\r\n", until));
  ResponseParser response(ResponseParser::Answers::Connect);
  while (!response.has_head()) {
    INJ_TRY(read(response, until));
  }
  const ResponseHead& head = response.head();
  if (head.code >= 300) {
    return Error{ErrorCode::Unavailable, "refused to connect to " + to + ": " +
                                             std::to_string(head.code) + " " +
                                             std::string(head.reason)};
  }
  return {};
}

Result<void> ClientConnection::secure(const std::string& name, const Until& until) {
  if (!stream_.secure(context_->start(stream_.fd(), name))) {
    return Error{ErrorCode::Internal, "TLS: no memory"};
  }
  const auto io = repeat([this] { return stream_.handshake(); }, until);
  if (!io) {
    return annotate(io.error(), "TLS handshake");
  }
  return io.value() == Stream::Io::Done ? Result<void>() : handshake_error(name);
}

Error ClientConnection::handshake_error(const std::string& name) const {
  const long verified = SSL_get_verify_result(stream_.session());
  if (verified != X509_V_OK && SSL_get_verify_mode(stream_.session()) != SSL_VERIFY_NONE) {
    return {ErrorCode::Unavailable, "TLS handshake: the server's certificate is not good for \"" +
                                        name + "\": " + X509_verify_cert_error_string(verified)};
  }
  return {ErrorCode::Unavailable, "TLS handshake: " + stream_.failure()};
}

}  // namespace injector::http
