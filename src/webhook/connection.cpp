#include "webhook/connection.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <utility>

#include <openssl/err.h>

namespace injector::webhook {
namespace {

constexpr std::size_t kBlock = 16384;         // A whole TLS record.
constexpr std::size_t kKeptBehind = 3;        // For just_read().
constexpr std::size_t kKeptCapacity = 32768;  // More is given back when a request is over.

int milliseconds_until(base::TimePoint deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 3'600'000));
}

}  // namespace

Connection::Connection(base::FileDescriptor socket, Seat seat, base::TimePoint accepted,
                       int cut_off)
    : seat_(std::move(seat)),
      socket_(std::move(socket)),
      accepted_(accepted),
      cut_off_(cut_off),
      idle_since_(accepted) {}

std::string Connection::peer() const {
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

bool Connection::has_input() const noexcept {
  pollfd waiting{socket_.get(), POLLIN, 0};
  return ::poll(&waiting, 1, 0) > 0;
}

base::Result<void> Connection::handshake(const tls::ServerContext& context,
                                         base::TimePoint deadline) {
  ssl_ = context.start(socket_.get());
  if (!ssl_) {
    return base::Error{base::ErrorCode::Unavailable, "no memory for a TLS session"};
  }
  while (true) {
    ERR_clear_error();
    const int result = SSL_accept(ssl_.get());
    if (result == 1) {
      return {};
    }
    switch (settle_tls(result, deadline)) {
      case Io::Blocked:
      case Io::Done:
        break;
      case Io::TimedOut:
        return base::Error{base::ErrorCode::Unavailable, "timed out"};
      case Io::Closed:
        return handshake_error();
    }
  }
}

base::Error Connection::handshake_error() {
  const int reason = ERR_GET_REASON(ERR_peek_error());
  if (reason == 0 || reason == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
    ERR_clear_error();
    return base::Error{base::ErrorCode::Unavailable, "the client closed the connection"};
  }
  plain_http_ = reason == SSL_R_HTTP_REQUEST || reason == SSL_R_HTTPS_PROXY_REQUEST;
  return base::invalid(tls::take_openssl_reason());
}

/// After a TLS call that did not succeed: waits for what it is blocked on. Done: try again.
Connection::Io Connection::settle_tls(int result, base::TimePoint deadline) {
  const int error = SSL_get_error(ssl_.get(), result);
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
    blocked_on_ = error == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT;
    if (deadline == base::TimePoint::min()) {
      return Io::Blocked;
    }
    return wait(blocked_on_, deadline) ? Io::Done : Io::TimedOut;
  }
  broken_ = error != SSL_ERROR_ZERO_RETURN;
  return Io::Closed;
}

bool Connection::wait(short events, base::TimePoint deadline) const noexcept {
  std::array<pollfd, 2> waiting{pollfd{socket_.get(), events, 0}, pollfd{cut_off_, POLLIN, 0}};
  while (true) {
    const int ready = ::poll(waiting.data(), waiting.size(), milliseconds_until(deadline));
    if (ready < 0 && errno == EINTR) {
      continue;
    }
    return ready > 0 && waiting[1].revents == 0;
  }
}

/// Adds what is there to the buffer, without waiting.
Connection::Io Connection::receive_now() {
  std::array<char, kBlock> block;  // NOLINT(cppcoreguidelines-pro-type-member-init): written first
  ssize_t count = 0;
  if (ssl_) {
    ERR_clear_error();
    count = SSL_read(ssl_.get(), block.data(), static_cast<int>(block.size()));
    if (count <= 0) {
      return settle_tls(static_cast<int>(count), base::TimePoint::min());
    }
  } else {
    count = ::recv(socket_.get(), block.data(), block.size(), 0);
    blocked_on_ = POLLIN;
    if (count <= 0) {
      return count < 0 && (errno == EAGAIN || errno == EINTR) ? Io::Blocked : Io::Closed;
    }
  }
  if (consumed_ > kKeptBehind) {
    const std::size_t dropped = consumed_ - kKeptBehind;
    in_.erase(0, dropped);
    consumed_ -= dropped;
    searched_ -= std::min(searched_, dropped);
  }
  in_.append(block.data(), static_cast<std::size_t>(count));
  return Io::Done;
}

Connection::Io Connection::receive(base::TimePoint deadline) {
  while (true) {
    const Io result = receive_now();
    if (result != Io::Blocked) {
      return result;
    }
    if (!wait(blocked_on_, deadline)) {
      return Io::TimedOut;
    }
  }
}

/// True if a blank line, as httplib sees it, ends what has been received so far. Searches each byte
/// once.
bool Connection::head_complete() noexcept {
  constexpr std::string_view kBlankLine = "\n\r\n";
  searched_ = std::max(searched_, consumed_);
  const std::size_t found = in_.find(kBlankLine, searched_);
  if (found != std::string::npos) {
    searched_ = found;
    return true;
  }
  const std::size_t overlap = kBlankLine.size() - 1;
  searched_ = std::max(searched_, in_.size() - std::min(in_.size(), overlap));
  return false;
}

Connection::Head Connection::read_head(std::size_t max_bytes, base::Duration limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (true) {
    skip_empty_lines();
    const std::size_t unread = in_.size() - consumed_;
    const bool complete = unread > 0 && head_complete();
    if ((complete ? searched_ - consumed_ : unread) > max_bytes) {
      return Head::TooLarge;
    }
    if (complete) {
      return Head::Complete;
    }
    switch (unread == 0 ? receive_now() : receive(deadline)) {
      case Io::Done:
        break;
      case Io::Blocked:
        return Head::Nothing;
      case Io::TimedOut:
        return Head::TimedOut;
      case Io::Closed:
        return Head::Closed;
    }
  }
}

/// Empty lines before a request are noise of old clients, and allowed.
void Connection::skip_empty_lines() noexcept {
  while (std::string_view(in_).substr(consumed_, 2) == "\r\n") {
    consumed_ += 2;
  }
}

void Connection::begin_request(std::size_t max_bytes, base::TimePoint deadline) noexcept {
  allowance_ = max_bytes;
  deadline_ = deadline;
  timed_out_ = false;
  used_up_ = false;
}

bool Connection::just_read(std::string_view text) const noexcept {
  return std::string_view(in_).substr(0, consumed_).ends_with(text);
}

/// Sends a part. Below zero: nothing went out; `blocked_on` tells what to wait for, 0 that it is
/// over.
ssize_t Connection::send_now(std::string_view bytes, short& blocked_on) {
  blocked_on = 0;
  if (ssl_) {
    ERR_clear_error();
    const int count = SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()));
    if (count <= 0 && settle_tls(count, base::TimePoint::min()) == Io::Blocked) {
      blocked_on = blocked_on_;
    }
    return count > 0 ? count : -1;
  }
  const ssize_t count = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
    blocked_on = POLLOUT;
  }
  return count;
}

bool Connection::flush(base::TimePoint deadline) {
  std::string_view rest = out_;
  while (!rest.empty()) {
    short blocked_on = 0;
    const ssize_t count = send_now(rest, blocked_on);
    if (count > 0) {
      rest.remove_prefix(static_cast<std::size_t>(count));
    } else if (blocked_on == 0 || !wait(blocked_on, deadline)) {
      broken_ = true;
      return false;
    }
  }
  out_.clear();
  if (out_.capacity() > kKeptCapacity) {
    out_.shrink_to_fit();
  }
  if (in_.capacity() > 2 * kKeptCapacity && in_.size() < kKeptCapacity) {
    in_.shrink_to_fit();
  }
  return true;
}

void Connection::send_in_the_clear(std::string_view text) noexcept {
  ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL);
}

void Connection::say_goodbye(base::TimePoint deadline) noexcept {
  phase_ = Phase::Closing;
  closing_deadline_ = deadline;
  if (ssl_ && !broken_) {
    ERR_clear_error();
    SSL_shutdown(ssl_.get());
  }
  ::shutdown(socket_.get(), SHUT_WR);
}

bool Connection::discard_input() noexcept {
  std::array<char, kBlock> block;  // NOLINT(cppcoreguidelines-pro-type-member-init): written first
  // A bound on the loop, or a client that sends without end would keep the worker.
  for (int i = 0; i < 64; ++i) {
    const ssize_t count = ::recv(socket_.get(), block.data(), block.size(), 0);
    if (count <= 0) {
      return count == 0 || (errno != EAGAIN && errno != EINTR);
    }
  }
  return false;
}

ssize_t Connection::read(char* to, std::size_t size) {
  if (consumed_ == in_.size()) {
    // "100 Continue" must be on its way before the client sends what we wait for.
    const Io result = flush(deadline_) ? receive(deadline_) : Io::Closed;
    timed_out_ = result == Io::TimedOut;
    if (result != Io::Done) {
      return -1;
    }
  }
  const std::size_t count = std::min(size, in_.size() - consumed_);
  used_up_ = count > allowance_;
  if (used_up_) {
    return -1;
  }
  allowance_ -= count;
  in_.copy(to, count, consumed_);
  consumed_ += count;
  return static_cast<ssize_t>(count);
}

ssize_t Connection::write(const char* from, std::size_t size) {
  out_.append(from, size);
  return static_cast<ssize_t>(size);
}

void Connection::get_remote_ip_and_port(std::string& ip, int& port) const {
  ip.clear();
  port = 0;
}

void Connection::get_local_ip_and_port(std::string& ip, int& port) const {
  ip.clear();
  port = 0;
}

}  // namespace injector::webhook
