#include "webhook/http_engine.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <chrono>
#include <exception>
#include <string>
#include <strings.h>
#include <utility>

namespace injector::webhook {
namespace {

// Chunks of a byte or two cost more framing than content; nobody sends those.
constexpr std::size_t kFramingAllowance = std::size_t{64} << 10U;
constexpr std::size_t kReserve = std::size_t{64} << 10U;

HttpReply text_reply(int status, std::string text) {
  return HttpReply{status, std::move(text) + "\n", "text/plain; charset=utf-8"};
}

bool equal_ignoring_case(std::string_view left, std::string_view right) {
  return left.size() == right.size() && ::strncasecmp(left.data(), right.data(), left.size()) == 0;
}

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// True if the comma-separated header value contains `token`.
bool has_token(std::string_view value, std::string_view token) {
  while (!value.empty()) {
    const std::size_t comma = std::min(value.find(','), value.size());
    if (equal_ignoring_case(trim(value.substr(0, comma)), token)) {
      return true;
    }
    value.remove_prefix(std::min(comma + 1, value.size()));
  }
  return false;
}

bool is_json(std::string_view content_type) {
  return equal_ignoring_case(trim(content_type.substr(0, content_type.find(';'))),
                             "application/json");
}

bool client_stays(const httplib::Request& request) {
  const std::string connection = request.get_header_value("Connection");
  return request.version == "HTTP/1.0" ? has_token(connection, "keep-alive")
                                       : !has_token(connection, "close");
}

std::optional<std::uint64_t> parse_length(std::string_view text) {
  std::uint64_t length = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, length);
  return error == std::errc() && stopped == end ? std::optional(length) : std::nullopt;
}

const char* allowed_methods(const Route& route) {
  return route.method == HttpMethod::Post ? "POST" : "GET, HEAD";
}

bool allows(const Route& route, const std::string& method) {
  return route.method == HttpMethod::Post ? method == "POST" : method == "GET" || method == "HEAD";
}

std::string_view query_of(const httplib::Request& request) {
  const std::string_view target = request.target;
  const std::size_t mark = target.find('?');
  return mark == std::string_view::npos ? std::string_view() : target.substr(mark + 1);
}

void write(HttpReply reply, httplib::Response& response) {
  response.status = reply.status;
  response.body = std::move(reply.body);
  response.set_header("Content-Type", reply.content_type);
}

/// For what httplib refuses by itself, which it does without a word.
void explain(const httplib::Request& /*request*/, httplib::Response& response) {
  if (response.body.empty()) {
    const char* text = response.status == 414 ? "URI too long" : "bad request";
    write(text_reply(response.status, text), response);
  }
}

}  // namespace

std::string closing_reply(std::string_view status_line, std::string_view text) {
  std::string reply = "HTTP/1.1 ";
  reply.append(status_line)
      .append("\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8");
  reply.append("\r\nContent-Length: ").append(std::to_string(text.size() + 1)).append("\r\n\r\n");
  return reply.append(text).append("\n");
}

HttpEngine::HttpEngine(const Routes& routes, const ServerLimits& limits,
                       const std::atomic<bool>& draining, const base::Logger& log)
    : routes_(routes),
      limits_(limits),
      draining_(draining),
      log_(log) {
  set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
    return before_routing(request, response);
  });
  // A request that will be refused is told so before it sends its body.
  set_expect_100_continue_handler(
      [this](const httplib::Request& request, httplib::Response& response) {
        return refuse(request, response) ? response.status : 100;
      });
  // Only paths of routes_ get here: they have passed before_routing().
  Post("/.*", [this](const httplib::Request& request, httplib::Response& response,
                     const httplib::ContentReader& read) { answer_post(request, response, read); });
  set_error_handler(explain);
  set_post_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
    finish(request, response);
  });
}

bool HttpEngine::answer(Connection& connection) {
  const auto now = std::chrono::steady_clock::now();
  connection_ = &connection;
  client_stays_ = false;
  body_read_ = false;
  stays_ = false;
  connection.begin_request(limits_.head_bytes + 2 * limits_.body_bytes + kFramingAllowance,
                           now + limits_.body);
  bool ignored = false;  // httplib's idea of whether to close; ours knows more.
  const bool served = process_request(connection, false, ignored,
                                      [this](httplib::Request& request) { set_up(request); });
  const bool sent = connection.flush(std::chrono::steady_clock::now() + limits_.reply);
  return served && sent && stays_;
}

/// After the head has been parsed; not called for one that cannot be.
void HttpEngine::set_up(httplib::Request& request) {
  client_stays_ = client_stays(request);
  // An admission answer is neither cut into ranges nor compressed: both are httplib's habit.
  request.ranges.clear();
  request.headers.erase("Accept-Encoding");
}

httplib::Server::HandlerResponse HttpEngine::before_routing(const httplib::Request& request,
                                                            httplib::Response& response) {
  if (refuse(request, response)) {
    return HandlerResponse::Handled;
  }
  if (request.method == "POST") {
    return HandlerResponse::Unhandled;
  }
  body_read_ = !request.has_header("Content-Length") && !request.has_header("Transfer-Encoding");
  run(*route_of(request), request, {}, response);
  return HandlerResponse::Handled;
}

/// Writes the refusal, if there is one to write.
bool HttpEngine::refuse(const httplib::Request& request, httplib::Response& response) const {
  auto refused = refusal(request);
  if (!refused) {
    return false;
  }
  if (refused->status == 405) {
    response.set_header("Allow", allowed_methods(*route_of(request)));
  }
  write(*std::move(refused), response);
  return true;
}

/// What is wrong with the request, as far as its head tells; nothing if it may be served.
std::optional<HttpReply> HttpEngine::refusal(const httplib::Request& request) const {
  const Route* route = route_of(request);
  if (route == nullptr) {
    return text_reply(404, "no such page");
  }
  if (!allows(*route, request.method)) {
    return text_reply(405, std::string("method not allowed, use ") + allowed_methods(*route));
  }
  if (route->method == HttpMethod::Get) {
    return std::nullopt;
  }
  if (!is_json(request.get_header_value("Content-Type"))) {
    return text_reply(415, "content type must be application/json");
  }
  // Also keeps httplib from unpacking: a small body could become a huge one.
  const std::string encoding = request.get_header_value("Content-Encoding");
  if (!encoding.empty() && !equal_ignoring_case(encoding, "identity")) {
    return text_reply(415, "content encoding is not supported");
  }
  return framing_refusal(request);
}

/// Two readers must never disagree on where a body ends.
std::optional<HttpReply> HttpEngine::framing_refusal(const httplib::Request& request) const {
  const std::size_t lengths = request.get_header_value_count("Content-Length");
  const std::size_t encodings = request.get_header_value_count("Transfer-Encoding");
  if (lengths + encodings == 0) {
    return text_reply(411, "content length required");
  }
  if (lengths + encodings > 1) {
    return text_reply(400, "ambiguous body length");
  }
  if (encodings == 1) {
    const bool chunked =
        equal_ignoring_case(request.get_header_value("Transfer-Encoding"), "chunked");
    return chunked ? std::nullopt
                   : std::optional(text_reply(501, "transfer encoding is not supported"));
  }
  const auto length = parse_length(request.get_header_value("Content-Length"));
  if (!length) {
    return text_reply(400, "bad content length");
  }
  if (*length > limits_.body_bytes) {
    return text_reply(413,
                      "body too large, at most " + std::to_string(limits_.body_bytes) + " bytes");
  }
  return std::nullopt;
}

const Route* HttpEngine::route_of(const httplib::Request& request) const noexcept {
  const auto found = std::find_if(routes_.begin(), routes_.end(), [&request](const Route& route) {
    return route.path == request.path;
  });
  return found == routes_.end() ? nullptr : &*found;
}

void HttpEngine::answer_post(const httplib::Request& request, httplib::Response& response,
                             const httplib::ContentReader& read) {
  std::string body;
  if (auto refused = read_body(request, read, body)) {
    write(*std::move(refused), response);
    return;
  }
  body_read_ = true;
  run(*route_of(request), request, body, response);
}

/// What is wrong with the body; nothing if it has been read to its end.
std::optional<HttpReply> HttpEngine::read_body(const httplib::Request& request,
                                               const httplib::ContentReader& read,
                                               std::string& body) const {
  bool too_large = false;
  body.reserve(kReserve);
  const bool complete = read([&](const char* bytes, std::size_t size) {
    too_large = size > limits_.body_bytes - body.size();
    if (!too_large) {
      body.append(bytes, size);
    }
    return !too_large;
  });
  if (too_large || connection_->used_up()) {
    return text_reply(413,
                      "body too large, at most " + std::to_string(limits_.body_bytes) + " bytes");
  }
  if (connection_->timed_out()) {
    return text_reply(408, "the body took too long");
  }
  // httplib takes a chunk without its line end for the last one.
  const bool chunked = request.has_header("Transfer-Encoding");
  if (!complete || (chunked && !connection_->just_read("\n\r\n"))) {
    return text_reply(400, "the body is incomplete or malformed");
  }
  return std::nullopt;
}

void HttpEngine::run(const Route& route, const httplib::Request& request, std::string_view body,
                     httplib::Response& response) const {
  try {
    write(route.handler(HttpRequest{query_of(request), body}), response);
    return;
  } catch (const std::exception& error) {
    log_.error("request handler failed", {{"path", route.path}, {"error", error.what()}});
  } catch (...) {
    log_.error("request handler failed", {{"path", route.path}, {"error", "unknown"}});
  }
  write(text_reply(500, "internal error"), response);
}

/// Headers that depend on how the request went; called once for every reply.
void HttpEngine::finish(const httplib::Request& request, httplib::Response& response) {
  // Decided once: draining may begin any moment, and the client believes what the header says.
  stays_ = client_stays_ && body_read_ && !draining_;
  response.headers.erase("Keep-Alive");
  response.headers.erase("Accept-Ranges");
  response.headers.erase("Connection");
  if (!stays_) {
    response.set_header("Connection", "close");
  } else if (request.version == "HTTP/1.0") {
    response.set_header("Connection", "keep-alive");
  }
}

}  // namespace injector::webhook
