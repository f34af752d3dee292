// Reads one HTTP/1.1 answer from bytes that arrive in any pieces: content-length, chunked with
// extensions and trailers, or until the connection closes. Safe on hostile input: the head, a
// chunk-size line and the trailers have limits, contradicting lengths are refused.
//
// Used by one thread at a time.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "kube/until.h"

namespace injector::kube {

inline constexpr std::size_t kMaxHead = std::size_t{64} << 10U;

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  /// At least one byte; 0: the peer ended the stream in good order.
  [[nodiscard]] virtual base::Result<std::size_t> read(std::span<char> into,
                                                       const Until& until) = 0;
};

struct ResponseHead {
  int code = 0;
  bool keep_alive = false;
  std::vector<std::pair<std::string, std::string>> headers;  // Names in lower case.

  /// The first of that (lower case) name.
  [[nodiscard]] std::optional<std::string_view> header(std::string_view name) const;
};

class ResponseReader {
 public:
  explicit ResponseReader(ByteSource& source);

  /// Skips 1xx answers. Unavailable: the connection broke; Internal: what came is not HTTP.
  [[nodiscard]] base::Result<ResponseHead> read_head(const Until& until);

  /// The next bytes of the body; 0: it is complete. A body cut short is Unavailable.
  [[nodiscard]] base::Result<std::size_t> read_body(std::span<char> into, const Until& until);

  /// The body is complete and the connection may carry another request.
  [[nodiscard]] bool reusable() const noexcept;

  /// Any byte of an answer has arrived.
  [[nodiscard]] bool started() const noexcept { return started_; }

 private:
  enum class Framing { Length, Chunked, UntilClose, Done };

  [[nodiscard]] base::Result<ResponseHead> read_one_head(const Until& until);
  [[nodiscard]] base::Result<void> choose_framing(const ResponseHead& head);
  [[nodiscard]] base::Result<std::string> read_line(std::size_t& budget, const Until& until);
  [[nodiscard]] base::Result<bool> fill(const Until& until);
  [[nodiscard]] base::Result<void> next_chunk(const Until& until);
  [[nodiscard]] base::Result<void> end_chunk(const Until& until);
  [[nodiscard]] base::Result<std::size_t> take(std::span<char> into, const Until& until);

  ByteSource& source_;  // Not owned; outlives the reader.
  std::string buffer_;
  std::size_t used_ = 0;  // Bytes of buffer_ that are consumed.
  Framing framing_ = Framing::Done;
  std::uint64_t left_ = 0;  // Of the body, or of the current chunk.
  bool in_chunk_ = false;   // A chunk's data has begun and its line end has not been read.
  bool keep_alive_ = false;
  bool started_ = false;
};

}  // namespace injector::kube
