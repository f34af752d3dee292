#include "kube/connection.h"

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <utility>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

namespace injector::kube {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr base::Duration kConnectTimeout = std::chrono::seconds(10);  // For one address.
constexpr base::Duration kHandshakeTimeout = std::chrono::seconds(10);

struct AddressFree {
  void operator()(addrinfo* list) const noexcept { ::freeaddrinfo(list); }
};

using Addresses = std::unique_ptr<addrinfo, AddressFree>;

Result<Addresses> resolve(const Endpoint& endpoint) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failed = ::getaddrinfo(endpoint.host.c_str(), endpoint.port.c_str(), &hints, &found);
  if (failed != 0) {
    return Error{ErrorCode::Unavailable,
                 "resolve " + endpoint.host + ": " + ::gai_strerror(failed)};
  }
  return Addresses(found);
}

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
    return system_error("socket", errno);
  }
  tune(fd.get());
  if (::connect(fd.get(), address.ai_addr, address.ai_addrlen) == 0) {
    return fd;
  }
  if (errno != EINPROGRESS) {
    return system_error("connect", errno);
  }
  const Waiter waiter;
  if (auto ready = waiter.wait(fd.get(), POLLOUT, until.within(kConnectTimeout)); !ready) {
    return annotate(std::move(ready).error(), "connect");
  }
  int failed = 0;
  socklen_t size = sizeof failed;
  if (::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &failed, &size) != 0 || failed != 0) {
    return system_error("connect", failed);
  }
  return fd;
}

/// The first address that answers.
Result<base::FileDescriptor> connect_any(const Endpoint& endpoint, const Until& until) {
  const Result<Addresses> addresses = resolve(endpoint);
  if (!addresses) {
    return addresses.error();
  }
  Result<base::FileDescriptor> fd = Error{ErrorCode::Unavailable, "no address"};
  for (const addrinfo* a = addresses.value().get(); a != nullptr; a = a->ai_next) {
    fd = connect_to(*a, until);
    if (fd || !until.check()) {
      return fd;
    }
  }
  return fd;
}

// OpenSSL's own socket BIO writes with write(2), which raises SIGPIPE.

int socket_of(BIO* bio) {
  return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
}

int bio_write(BIO* bio, const char* data, int size) {
  const ssize_t sent = ::send(socket_of(bio), data, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  BIO_clear_retry_flags(bio);
  if (sent < 0 && (errno == EAGAIN || errno == EINTR)) {
    BIO_set_retry_write(bio);
  }
  return static_cast<int>(sent);
}

int bio_read(BIO* bio, char* data, int size) {
  const ssize_t got = ::recv(socket_of(bio), data, static_cast<std::size_t>(size), 0);
  BIO_clear_retry_flags(bio);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    BIO_set_retry_read(bio);
  }
  if (got == 0) {
    BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  }
  return static_cast<int>(got);
}

long bio_control(BIO* bio, int command, long /*number*/, void* /*pointer*/) {
  if (command == BIO_CTRL_EOF) {
    return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
  }
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

const BIO_METHOD* quiet_socket() {
  static const BIO_METHOD* const kMethod = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "quiet socket");
    BIO_meth_set_write(made, bio_write);
    BIO_meth_set_read(made, bio_read);
    BIO_meth_set_ctrl(made, bio_control);
    return made;
  }();
  return kMethod;
}

bool is_address(const std::string& name) {
  std::array<unsigned char, sizeof(in6_addr)> binary{};
  return ::inet_pton(AF_INET, name.c_str(), binary.data()) == 1 ||
         ::inet_pton(AF_INET6, name.c_str(), binary.data()) == 1;
}

/// Whom the certificate must be for. An address is compared to the certificate's addresses and is
/// not sent as SNI, which knows only names.
bool expect_peer(SSL* ssl, const std::string& name) {
  if (is_address(name)) {
    return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name.c_str()) == 1;
  }
  SSL_set_hostflags(ssl,
                    X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  // The macro for this has an old-style cast in it.
  char* sni = const_cast<char*>(name.c_str());
  return SSL_set1_host(ssl, sni) == 1 &&
         SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, sni) == 1;
}

}  // namespace

Connection::Connection(base::FileDescriptor socket, SslContext context)
    : socket_(std::move(socket)),
      context_(std::move(context)) {}

Connection::~Connection() {
  if (ssl_ != nullptr && !broken_) {
    ERR_clear_error();
    SSL_shutdown(ssl_.get());  // Says goodbye if the socket takes it at once.
    ERR_clear_error();
  }
}

Result<std::unique_ptr<Connection>> Connection::open(const Endpoint& endpoint, SslContext context,
                                                     const std::string& name, const Until& until) {
  INJ_TRY(until.check());
  Result<base::FileDescriptor> socket = connect_any(endpoint, until);
  if (!socket) {
    return socket.error();
  }
  std::unique_ptr<Connection> connection(
      new Connection(std::move(socket).value(), std::move(context)));
  if (connection->context_ == nullptr) {
    return connection;
  }
  INJ_TRY(connection->handshake(name, until.within(kHandshakeTimeout)));
  return connection;
}

Result<void> Connection::handshake(const std::string& name, const Until& until) {
  ssl_.reset(SSL_new(context_.get()));
  BIO* bio = BIO_new(quiet_socket());
  if (ssl_ == nullptr || bio == nullptr || !expect_peer(ssl_.get(), name)) {
    BIO_free(bio);
    return Error{ErrorCode::Internal, "TLS: " + openssl_error()};
  }
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a BIO carries one pointer; ours is the descriptor.
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(socket_.get())));
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_.get(), bio, bio);
  for (;;) {
    ERR_clear_error();
    const int done = SSL_connect(ssl_.get());
    if (done == 1) {
      return {};
    }
    Result<Step> step = tls_step(done, 0);
    if (!step) {
      return handshake_error(name, std::move(step).error());
    }
    if (step.value().wait_for == 0) {
      broken_ = true;
      return Error{ErrorCode::Unavailable, "TLS handshake: the server closed the connection"};
    }
    if (auto ready = waiter_.wait(socket_.get(), step.value().wait_for, until); !ready) {
      broken_ = true;
      return annotate(std::move(ready).error(), "TLS handshake");
    }
  }
}

Error Connection::handshake_error(const std::string& name, Error error) const {
  const long verified = SSL_get_verify_result(ssl_.get());
  if (verified != X509_V_OK) {
    error.message = "the server's certificate is not good for \"" + name +
                    "\": " + X509_verify_cert_error_string(verified);
  }
  return annotate(std::move(error), "TLS handshake");
}

/// What OpenSSL's `result` means. No bytes and nothing to wait for: the peer closed in good order.
Result<Connection::Step> Connection::tls_step(int result, std::size_t bytes) {
  const int number = errno;
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_NONE:
      return Step{bytes, 0};
    case SSL_ERROR_WANT_READ:
      return Step{0, POLLIN};
    case SSL_ERROR_WANT_WRITE:
      return Step{0, POLLOUT};
    case SSL_ERROR_ZERO_RETURN:
      return Step{};
    case SSL_ERROR_SYSCALL:
      broken_ = true;
      return number != 0 ? system_error("connection", number)
                         : Error{ErrorCode::Unavailable, "the connection closed in the middle"};
    default:
      broken_ = true;
      return Error{ErrorCode::Unavailable, openssl_error()};
  }
}

Result<Connection::Step> Connection::read_some(std::span<char> into) {
  if (ssl_ != nullptr) {
    ERR_clear_error();
    errno = 0;
    std::size_t bytes = 0;
    const int done = SSL_read_ex(ssl_.get(), into.data(), into.size(), &bytes);
    return tls_step(done, bytes);
  }
  const ssize_t got = ::recv(socket_.get(), into.data(), into.size(), 0);
  if (got >= 0) {
    return Step{static_cast<std::size_t>(got), 0};
  }
  if (errno == EAGAIN || errno == EINTR) {
    return Step{0, POLLIN};
  }
  return system_error("connection", errno);
}

Result<Connection::Step> Connection::write_some(std::string_view bytes) {
  if (ssl_ != nullptr) {
    ERR_clear_error();
    errno = 0;
    std::size_t written = 0;
    const int done = SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &written);
    return tls_step(done, written);
  }
  const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent >= 0) {
    return Step{static_cast<std::size_t>(sent), 0};
  }
  if (errno == EAGAIN || errno == EINTR) {
    return Step{0, POLLOUT};
  }
  return system_error("connection", errno);
}

Result<std::size_t> Connection::read(std::span<char> into, const Until& until) {
  for (;;) {
    // Also before data that is there: a peer that never pauses must not outrun a stop.
    INJ_TRY(until.check());
    const Result<Step> step = read_some(into);
    if (!step) {
      return step.error();
    }
    if (step.value().wait_for == 0) {
      return step.value().bytes;
    }
    INJ_TRY(waiter_.wait(socket_.get(), step.value().wait_for, until));
  }
}

Result<void> Connection::write(std::string_view bytes, const Until& until) {
  while (!bytes.empty()) {
    const Result<Step> step = write_some(bytes);
    if (!step) {
      return step.error();
    }
    bytes.remove_prefix(step.value().bytes);
    if (step.value().bytes == 0 && step.value().wait_for == 0) {
      return Error{ErrorCode::Unavailable, "the server closed the connection"};
    }
    if (step.value().wait_for == 0) {
      continue;
    }
    if (auto ready = waiter_.wait(socket_.get(), step.value().wait_for, until); !ready) {
      return ready;
    }
  }
  return {};
}

bool Connection::healthy() {
  // TLS may have something to read that is not for us, such as a session ticket: only an attempt
  // to read tells.
  std::array<char, 1> byte{};
  const Result<Step> step = read_some(byte);
  return step && step.value().bytes == 0 && step.value().wait_for == POLLIN;
}

}  // namespace injector::kube
