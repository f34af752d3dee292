#include "http/reply_text.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <utility>

namespace injector::http {
namespace {

struct Status {
  int code;
  std::string_view phrase;
};

constexpr std::array<Status, 20> kStatuses{{{200, "OK"},
                                            {303, "See Other"},
                                            {400, "Bad Request"},
                                            {401, "Unauthorized"},
                                            {403, "Forbidden"},
                                            {404, "Not Found"},
                                            {405, "Method Not Allowed"},
                                            {408, "Request Timeout"},
                                            {409, "Conflict"},
                                            {411, "Length Required"},
                                            {413, "Content Too Large"},
                                            {414, "URI Too Long"},
                                            {415, "Unsupported Media Type"},
                                            {417, "Expectation Failed"},
                                            {422, "Unprocessable Content"},
                                            {429, "Too Many Requests"},
                                            {431, "Request Header Fields Too Large"},
                                            {500, "Internal Server Error"},
                                            {501, "Not Implemented"},
                                            {503, "Service Unavailable"}}};

void append_number(std::string& out, std::size_t number) {
  std::array<char, 20> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out.append(digits.data(), end);
}

void append_headers(std::string& out, const Headers& headers) {
  for (const auto& [name, value] : headers) {
    out.append("\r\n").append(name).append(": ").append(value);
  }
}

}  // namespace

Reply text_reply(int status, std::string text) {
  return {status, std::move(text) + "\n", "text/plain; charset=utf-8"};
}

std::string_view reason_phrase(int status) noexcept {
  for (const Status& known : kStatuses) {
    if (known.code == status) {
      return known.phrase;
    }
  }
  return "Unknown";
}

void append_reply(std::string& out, const Reply& reply, const ReplyFrame& frame) {
  constexpr std::size_t kHeadRoom = 256;
  out.reserve(out.size() + kHeadRoom + reply.body.size());
  out += "HTTP/1.1 ";
  append_number(out, static_cast<std::size_t>(reply.status));
  out.append(" ").append(reason_phrase(reply.status));
  out.append("\r\nContent-Type: ").append(reply.content_type).append("\r\nContent-Length: ");
  append_number(out, reply.body.size());
  append_headers(out, reply.headers);
  if (!frame.allow.empty()) {
    out.append("\r\nAllow: ").append(frame.allow);
  }
  if (reply.status == kTooManyRequests) {
    out.append("\r\nRetry-After: ").append(kRetryAfter);
  }
  if (!frame.stays_open) {
    out += "\r\nConnection: close";
  } else if (frame.http10) {
    out += "\r\nConnection: keep-alive";
  }
  out += "\r\n\r\n";
  if (!frame.head_only) {
    out += reply.body;
  }
}

void append_stream_head(std::string& out, const Headers& headers) {
  out += "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close";
  append_headers(out, headers);
  out += "\r\n\r\n";
}

std::string closing_reply(int status, std::string text) {
  std::string out;
  append_reply(out, text_reply(status, std::move(text)), {.stays_open = false});
  return out;
}

}  // namespace injector::http
