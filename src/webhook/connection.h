// One client's connection: a non-blocking socket, TLS where wanted, and the buffers that make of
// httplib's byte-wise reads and piecewise writes one read and one write a request.
//
// Every wait has a deadline, and ends early when the server cuts connections off. A Connection
// belongs to one thread at a time.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <httplib.h>

#include "base/clock.h"
#include "base/file_descriptor.h"
#include "base/result.h"
#include "tls/handles.h"
#include "tls/server_context.h"
#include "webhook/seats.h"

namespace injector::webhook {

class Connection final : public httplib::Stream {
 public:
  /// Where a connection is in its life; tells what a parked one waits for.
  enum class Phase {
    New,      // Nothing has been answered yet.
    Idle,     // Between two requests.
    Closing,  // We said goodbye; the rest of what the client sends is thrown away.
  };

  enum class Head { Complete, Nothing, TooLarge, TimedOut, Closed };

  /// `cut_off` becomes readable when all waiting must end; not owned.
  Connection(base::FileDescriptor socket, Seat seat, base::TimePoint accepted, int cut_off);

  [[nodiscard]] int fd() const noexcept { return socket_.get(); }

  [[nodiscard]] base::TimePoint accepted() const noexcept { return accepted_; }

  [[nodiscard]] Phase phase() const noexcept { return phase_; }

  void set_idle(base::TimePoint since) noexcept {
    phase_ = Phase::Idle;
    idle_since_ = since;
  }

  /// When its last request had been answered; when it was accepted, if there was none.
  [[nodiscard]] base::TimePoint idle_since() const noexcept { return idle_since_; }

  /// Tells the client that nothing more will come; it has until `deadline` to close as well.
  void say_goodbye(base::TimePoint deadline) noexcept;

  /// Of say_goodbye().
  [[nodiscard]] base::TimePoint closing_deadline() const noexcept { return closing_deadline_; }

  /// The client's address and port, for the log. A system call.
  [[nodiscard]] std::string peer() const;

  [[nodiscard]] bool secured() const noexcept { return ssl_ != nullptr; }

  /// True if bytes (or the end) have arrived that nobody has read. A system call.
  [[nodiscard]] bool has_input() const noexcept;

  /// Without a certificate from the client, where one is demanded, this may still succeed on the
  /// client's side and fail here: TLS 1.3 sends it last.
  [[nodiscard]] base::Result<void> handshake(const tls::ServerContext& context,
                                             base::TimePoint deadline);

  /// True if the handshake failed because the client speaks plain HTTP.
  [[nodiscard]] bool speaks_plain_http() const noexcept { return plain_http_; }

  /// Gets the next request's head, to its blank line, into the buffer. Nothing: not a byte of it
  /// has arrived yet, and it did not wait. `limit` counts from the first byte.
  [[nodiscard]] Head read_head(std::size_t max_bytes, base::Duration limit);

  /// What httplib may still read for this request, and until when.
  void begin_request(std::size_t max_bytes, base::TimePoint deadline) noexcept;

  /// True if a read ended because begin_request()'s deadline passed, or its bytes were used up.
  [[nodiscard]] bool timed_out() const noexcept { return timed_out_; }

  [[nodiscard]] bool used_up() const noexcept { return used_up_; }

  /// True if the bytes that were read last are `text` (three bytes at most).
  [[nodiscard]] bool just_read(std::string_view text) const noexcept;

  /// Sends what was written, in one go. False: the connection is of no use any more.
  [[nodiscard]] bool flush(base::TimePoint deadline);

  /// Sends `text` past TLS: for clients that speak HTTP to the HTTPS port.
  void send_in_the_clear(std::string_view text) noexcept;

  /// Throws away what has arrived. True: the client has closed as well.
  [[nodiscard]] bool discard_input() noexcept;

  // httplib::Stream.
  [[nodiscard]] bool is_readable() const override { return true; }

  [[nodiscard]] bool is_writable() const override { return true; }

  ssize_t read(char* to, std::size_t size) override;
  ssize_t write(const char* from, std::size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;

  /// None: httplib refuses descriptors above FD_SETSIZE, which it has no reason to look at.
  [[nodiscard]] socket_t socket() const override { return INVALID_SOCKET; }

 private:
  enum class Io { Done, Blocked, Closed, TimedOut };

  [[nodiscard]] bool wait(short events, base::TimePoint deadline) const noexcept;
  [[nodiscard]] base::Error handshake_error();
  [[nodiscard]] Io settle_tls(int result, base::TimePoint deadline);
  [[nodiscard]] Io receive_now();
  [[nodiscard]] Io receive(base::TimePoint deadline);
  [[nodiscard]] ssize_t send_now(std::string_view bytes, short& blocked_on);
  [[nodiscard]] bool head_complete() noexcept;
  void skip_empty_lines() noexcept;

  Seat seat_;  // First: given back when all the rest is gone.
  base::FileDescriptor socket_;
  tls::SslPtr ssl_;  // Null before the handshake and for plain HTTP.
  base::TimePoint accepted_;
  int cut_off_;
  Phase phase_ = Phase::New;
  base::TimePoint idle_since_;
  base::TimePoint closing_deadline_{};
  bool broken_ = false;  // TLS failed for good: it must not be used any more.
  bool plain_http_ = false;
  short blocked_on_ = 0;        // What the last Blocked was about: POLLIN or POLLOUT.
  std::string in_;              // Received...
  std::size_t consumed_ = 0;    // ...of which this much has been read.
  std::size_t searched_ = 0;    // No blank line ends before here.
  std::string out_;             // Written, not sent yet.
  std::size_t allowance_ = 0;   // Bytes that httplib may still read for this request.
  base::TimePoint deadline_{};  // Of this request's reads.
  bool timed_out_ = false;
  bool used_up_ = false;
};

}  // namespace injector::webhook
