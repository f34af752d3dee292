// HTTP/1.1 responses over memory: bytes in, head and content out. Content-Length, chunked, or until
// the connection closes; strict and bounded like the server's reading of requests, with which it
// shares head and chunk decoding.
//
// Used by one thread at a time.

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/chunked.h"
#include "http/head.h"

namespace injector::http {

inline constexpr std::size_t kMaxResponseHead = std::size_t{64} << 10U;

class ResponseParser {
 public:
  enum class Answers { Request, Connect };  // CONNECT's success has no body.

  explicit ResponseParser(Answers answers = Answers::Request) noexcept
      : answers_(answers) {}

  ResponseParser(const ResponseParser&) = delete;  // head() refers to what it holds.
  ResponseParser& operator=(const ResponseParser&) = delete;

  /// The next bytes that arrived. Skips 1xx responses. Internal: what came is not HTTP.
  [[nodiscard]] base::Result<void> take(std::string_view received);

  /// The peer ended the stream in good order. Unavailable: in the middle of the response.
  [[nodiscard]] base::Result<void> end();

  [[nodiscard]] bool has_head() const noexcept { return stage_ != Stage::Head; }

  [[nodiscard]] const ResponseHead& head() const noexcept { return head_; }

  [[nodiscard]] bool complete() const noexcept { return stage_ == Stage::Complete; }

  /// Complete, and nothing follows; another request may be sent if the head allows it.
  [[nodiscard]] bool reusable() const noexcept {
    return complete() && head_.keeps_alive && in_.empty();
  }

  /// What was decoded of the body; the caller takes it out.
  [[nodiscard]] std::string& content() noexcept { return content_; }

 private:
  enum class Stage { Head, Length, Chunked, UntilClose, Complete };

  [[nodiscard]] base::Result<void> advance(std::string_view& text);
  [[nodiscard]] base::Result<bool> take_head(std::string_view& text);
  [[nodiscard]] base::Result<void> choose_stage();

  const Answers answers_;
  Stage stage_ = Stage::Head;
  int interim_ = 0;  // 1xx responses so far.
  HeadScanner scanner_;
  std::string in_;         // Received, not understood yet.
  std::string head_text_;  // What head_ refers to.
  ResponseHead head_;
  std::uint64_t left_ = 0;  // Of a body whose length is known.
  ChunkedDecoder chunks_{std::numeric_limits<std::size_t>::max()};
  std::string content_;
};

}  // namespace injector::http
