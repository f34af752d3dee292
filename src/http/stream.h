// A non-blocking socket, with TLS where wanted, of a server or a client. No call waits: what cannot
// go on says what for. Writes never raise SIGPIPE.
//
// Belongs to one thread at a time.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/file_descriptor.h"
#include "base/result.h"
#include "tls/handles.h"

namespace injector::http {

class Stream {
 public:
  enum class Io {
    Done,
    WantRead,   // Try again once the socket is readable,
    WantWrite,  // or writable.
    Closed,     // By the peer in good order, or broken: see broken().
  };

  /// `socket` is non-blocking.
  explicit Stream(base::FileDescriptor socket) noexcept;

  [[nodiscard]] int fd() const noexcept { return socket_.get(); }

  /// The peer's address and port, for the log. A system call.
  [[nodiscard]] std::string peer() const;

  /// True if bytes (or the end) have arrived that nobody has read. A system call.
  [[nodiscard]] bool has_input() const noexcept;

  /// Begins TLS with a session for this socket. False: it is null, for lack of memory.
  [[nodiscard]] bool secure(tls::SslPtr session) noexcept;

  [[nodiscard]] bool secured() const noexcept { return ssl_ != nullptr; }

  /// Null without TLS. For questions about the session, not for I/O.
  [[nodiscard]] const SSL* session() const noexcept { return ssl_.get(); }

  /// Goes on with the handshake. After Closed: handshake_error().
  [[nodiscard]] Io handshake();

  /// Of a server: why it failed, and whether because the client speaks plain HTTP.
  [[nodiscard]] base::Error handshake_error();

  [[nodiscard]] bool speaks_plain_http() const noexcept { return plain_http_; }

  /// Reads up to `size` bytes; `count` says how many.
  [[nodiscard]] Io read(char* to, std::size_t size, std::size_t& count);

  /// After Closed: the connection broke, rather than that the peer ended it in good order.
  [[nodiscard]] bool broken() const noexcept { return broken_; }

  /// If broken: why, in a few words.
  [[nodiscard]] std::string failure() const;

  /// True if TLS holds bytes back, of which the socket will not tell.
  [[nodiscard]] bool has_pending() const noexcept;

  /// Sends as much of `bytes` as goes; `count` says how much. Not all: repeat it with the rest.
  [[nodiscard]] Io write(std::string_view bytes, std::size_t& count);

  /// Sends `text` past TLS: for clients that speak HTTP to the HTTPS port.
  void send_in_the_clear(std::string_view text) noexcept;

  /// Tells the peer that nothing more will come.
  void say_goodbye() noexcept;

  /// Throws away what has arrived. True: the peer has closed as well.
  [[nodiscard]] bool discard_input() noexcept;

  /// Gives the descriptor back.
  void close() noexcept;

 private:
  [[nodiscard]] Io settle(int result);
  [[nodiscard]] Io fail(int number) noexcept;

  base::FileDescriptor socket_;
  tls::SslPtr ssl_;      // Null: plain, or TLS has not begun.
  bool broken_ = false;  // TLS must not be used any more, not even for its closing message.
  int number_ = 0;       // errno of what broke it; 0: none.
  bool plain_http_ = false;
};

}  // namespace injector::http
