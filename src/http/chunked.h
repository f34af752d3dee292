// A chunked body put together as it comes in (RFC 9112, 7.1), read strictly. Extensions and
// trailers are checked for their form, bounded, and otherwise ignored. For requests and responses,
// also those without an end.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace injector::http {

class ChunkedDecoder {
 public:
  enum class State { Partial, Complete, Malformed, TooLarge };

  /// `max_body` bounds what `body` holds at any time.
  explicit ChunkedDecoder(std::size_t max_body) noexcept
      : max_body_(max_body) {}

  /// Takes what it understands off the front of `text` and adds the content to `body`. `text` then
  /// begins with what was left, and more, at the next call; once Complete, with what follows the
  /// body.
  [[nodiscard]] State take(std::string_view& text, std::string& body);

 private:
  enum class Part { Size, Content, ContentEnd, Trailer, End };

  [[nodiscard]] State step(std::string_view& text, std::string& body);
  [[nodiscard]] State take_size(std::string_view line, std::size_t body_size);
  [[nodiscard]] State take_content(std::string_view& text, std::string& body);
  [[nodiscard]] State take_content_end(std::string_view& text);
  [[nodiscard]] State take_trailer(std::string_view line);

  std::size_t max_body_;
  Part part_ = Part::Size;
  std::uint64_t left_ = 0;     // Of the chunk's content.
  std::uint64_t framing_ = 0;  // Bytes of size lines and trailers so far, and
  std::uint64_t content_ = 0;  // of content.
  bool progressed_ = false;    // The last step got on.
};

}  // namespace injector::http
