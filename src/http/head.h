// The head of a request or a response, from its first byte to the blank line, read strictly: where
// two readers could disagree on what a line means or where a body ends, the message is refused. The
// server reads requests with it, the client responses.
//
// Nothing is copied: a head refers to the text it was read from.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "http/message.h"

namespace injector::http {

inline constexpr std::size_t kMaxTarget = 8192;      // Longer: 414.
inline constexpr std::size_t kMaxHeaderLine = 8192;  // Longer: 400.

/// Where the message's body ends, and whether another message may follow on the connection.
struct Framing {
  bool http10 = false;
  bool keeps_alive = true;  // What the sender wishes.
  std::optional<std::uint64_t> content_length;
  std::string_view transfer_encoding;  // Empty: none.
};

struct RequestHead : Framing {
  std::string_view line;    // The first one, without its end.
  std::string_view method;  // A known one, in capitals.
  std::string_view path;
  std::string_view query;  // Without the question mark.
  bool expects_continue = false;
  bool expects_other = false;  // Something that we cannot promise.
  std::string_view content_type;
  std::string_view content_encoding;

  // For guards; the first of each, empty where there is none.
  std::string_view host;
  std::string_view origin;
  std::string_view fetch_site;  // Sec-Fetch-Site
  std::string_view authorization;
  std::string_view cookie;

  /// True if bytes of a body follow.
  [[nodiscard]] bool has_body() const noexcept {
    return !transfer_encoding.empty() || content_length.value_or(0) > 0;
  }
};

struct ResponseHead : Framing {
  int code = 0;
  std::string_view reason;  // "Not Found"; may be empty.
  std::string_view fields;  // The header lines.

  /// The value of the first header of that name, whatever its case; empty where there is none.
  [[nodiscard]] std::string_view header(std::string_view name) const noexcept;
};

/// Finds the end of a head in text that grows. Looks at each byte once.
class HeadScanner {
 public:
  enum class State {
    Partial,
    Complete,
    Malformed,  // A line feed without its carriage return.
  };

  /// `text` begins with the message and has only grown since the last call.
  [[nodiscard]] State scan(std::string_view text) noexcept;

  /// Once complete: the bytes of the head, blank line included.
  [[nodiscard]] std::size_t size() const noexcept { return line_; }

 private:
  std::size_t line_ = 0;      // Where the line begins that is looked at.
  std::size_t searched_ = 0;  // No line feed before here that was not seen.
};

/// Reads a complete head. Not a value: why it is refused.
[[nodiscard]] std::optional<Reply> parse_head(std::string_view text, RequestHead& head);

/// Reads a complete head. Null, or why it is refused.
[[nodiscard]] const char* parse_head(std::string_view text, ResponseHead& head);

/// Reads a line like "Name: value", without its line end; false if it is not one.
[[nodiscard]] bool parse_field(std::string_view line, std::string_view& name,
                               std::string_view& value) noexcept;

[[nodiscard]] bool equal_ignoring_case(std::string_view left, std::string_view right) noexcept;

}  // namespace injector::http
