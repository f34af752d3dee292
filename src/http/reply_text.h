// Replies as they go over the wire.

#pragma once

#include <string>
#include <string_view>

#include "http/message.h"

namespace injector::http {

inline constexpr int kTooManyRequests = 429;
inline constexpr const char* kRetryAfter = "1";  // Seconds, with kTooManyRequests.

/// What the reply says besides its content.
struct ReplyFrame {
  bool stays_open = true;
  bool http10 = false;       // The client's version, which wants to be told of a connection kept.
  bool head_only = false;    // For HEAD.
  std::string_view allow{};  // With 405: the methods that are.
};

/// For requests that are refused; the others' replies are written by http/engine.
void append_reply(std::string& out, const Reply& reply, const ReplyFrame& frame);

/// The head of a stream of server-sent events, which ends with the connection.
void append_stream_head(std::string& out, const Headers& headers);

/// A whole reply after which the connection is closed.
[[nodiscard]] std::string closing_reply(int status, std::string text);

/// "Not Found" for 404.
[[nodiscard]] std::string_view reason_phrase(int status) noexcept;

}  // namespace injector::http
