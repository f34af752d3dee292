#include "http/stream.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <system_error>
#include <utility>

#include <openssl/err.h>

namespace injector::http {
namespace {

constexpr std::size_t kBlock = 16384;

bool would_block() noexcept {
  return errno == EAGAIN || errno == EINTR;
}

int tls_size(std::size_t size) noexcept {
  return static_cast<int>(std::min<std::size_t>(size, std::numeric_limits<int>::max()));
}

}  // namespace

Stream::Stream(base::FileDescriptor socket) noexcept
    : socket_(std::move(socket)) {}

std::string Stream::peer() const {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (::getpeername(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
      ::getnameinfo(reinterpret_cast<sockaddr*>(&address), size, host.data(), host.size(),
                    port.data(), port.size(), NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "unknown";
  }
  return std::string("[") + host.data() + "]:" + port.data();
}

bool Stream::has_input() const noexcept {
  pollfd waiting{socket_.get(), POLLIN, 0};
  return ::poll(&waiting, 1, 0) > 0;
}

bool Stream::secure(tls::SslPtr session) noexcept {
  ssl_ = std::move(session);
  return secured();
}

Stream::Io Stream::handshake() {
  ERR_clear_error();
  errno = 0;
  const int result = SSL_do_handshake(ssl_.get());
  return result == 1 ? Io::Done : settle(result);
}

base::Error Stream::handshake_error() {
  const int reason = ERR_GET_REASON(ERR_peek_error());
  if (reason == 0 || reason == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
    ERR_clear_error();
    return base::Error{base::ErrorCode::Unavailable, "the client closed the connection"};
  }
  plain_http_ = reason == SSL_R_HTTP_REQUEST || reason == SSL_R_HTTPS_PROXY_REQUEST;
  return base::invalid(tls::take_openssl_reason());
}

/// What a TLS call that did not succeed waits for.
Stream::Io Stream::settle(int result) {
  const int error = SSL_get_error(ssl_.get(), result);
  if (error == SSL_ERROR_WANT_READ) {
    return Io::WantRead;
  }
  if (error == SSL_ERROR_WANT_WRITE) {
    return Io::WantWrite;
  }
  return error == SSL_ERROR_ZERO_RETURN ? Io::Closed : fail(error == SSL_ERROR_SYSCALL ? errno : 0);
}

Stream::Io Stream::fail(int number) noexcept {
  broken_ = true;
  number_ = number;
  return Io::Closed;
}

std::string Stream::failure() const {
  if (number_ != 0) {
    return std::generic_category().message(number_);
  }
  const int reason = ERR_GET_REASON(ERR_peek_error());
  const bool ended = reason == 0 || reason == SSL_R_UNEXPECTED_EOF_WHILE_READING;
  const std::string text = tls::take_openssl_reason();  // Also empties the queue.
  return ended ? "the connection closed in the middle" : text;
}

Stream::Io Stream::read(char* to, std::size_t size, std::size_t& count) {
  count = 0;
  if (ssl_) {
    ERR_clear_error();
    errno = 0;
    const int got = SSL_read(ssl_.get(), to, tls_size(size));
    count = got > 0 ? static_cast<std::size_t>(got) : 0;
    return got > 0 ? Io::Done : settle(got);
  }
  const ssize_t got = ::recv(socket_.get(), to, size, 0);
  if (got > 0) {
    count = static_cast<std::size_t>(got);
    return Io::Done;
  }
  if (got == 0) {
    return Io::Closed;
  }
  return would_block() ? Io::WantRead : fail(errno);
}

bool Stream::has_pending() const noexcept {
  return ssl_ != nullptr && SSL_has_pending(ssl_.get()) == 1;
}

Stream::Io Stream::write(std::string_view bytes, std::size_t& count) {
  count = 0;
  while (count < bytes.size()) {
    const std::string_view rest = bytes.substr(count);
    if (ssl_) {
      ERR_clear_error();
      errno = 0;
      const int sent = SSL_write(ssl_.get(), rest.data(), tls_size(rest.size()));
      if (sent <= 0) {
        return settle(sent);
      }
      count += static_cast<std::size_t>(sent);
      continue;
    }
    const ssize_t sent = ::send(socket_.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent < 0) {
      return would_block() ? Io::WantWrite : fail(errno);
    }
    count += static_cast<std::size_t>(sent);
  }
  return Io::Done;
}

void Stream::send_in_the_clear(std::string_view text) noexcept {
  ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL);
}

void Stream::say_goodbye() noexcept {
  if (ssl_ && !broken_ && SSL_is_init_finished(ssl_.get()) == 1) {
    ERR_clear_error();
    SSL_shutdown(ssl_.get());
  }
  broken_ = true;
  ::shutdown(socket_.get(), SHUT_WR);
}

bool Stream::discard_input() noexcept {
  std::array<char, kBlock> block;  // NOLINT(cppcoreguidelines-pro-type-member-init): written first
  // A bound on the loop, or a client that sends without end would keep the thread.
  for (int i = 0; i < 64; ++i) {
    const ssize_t count = ::recv(socket_.get(), block.data(), block.size(), 0);
    if (count <= 0) {
      return count == 0 || !would_block();
    }
  }
  return false;
}

void Stream::close() noexcept {
  ssl_.reset();
  socket_.reset();
}

}  // namespace injector::http
