#include "http/conversation.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace injector::http {
namespace {

// A client that sends requests without taking answers must not fill our memory with them.
constexpr std::size_t kLongOutput = std::size_t{256} << 10U;
constexpr std::size_t kKeptCapacity = std::size_t{16} << 10U;

constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

bool is_json(std::string_view content_type) {
  constexpr std::string_view kJson = "application/json";
  const std::string_view type = content_type.substr(0, content_type.find(';'));
  const std::size_t last = type.find_last_not_of(" \t");
  return last != std::string_view::npos && equal_ignoring_case(type.substr(0, last + 1), kJson);
}

std::string_view allowed_methods(const Route& route) {
  return route.method == Method::Post ? "POST" : "GET, HEAD";
}

bool matches(const Route& route, std::string_view path) {
  if (!path.starts_with(route.path)) {
    return false;
  }
  return path.size() == route.path.size() || (route.subtree && path[route.path.size()] == '/');
}

bool allows(const Route& route, std::string_view method) {
  return route.method == Method::Post ? method == "POST" : method == "GET" || method == "HEAD";
}

Reply too_large(std::size_t limit) {
  return text_reply(413, "body too large, at most " + std::to_string(limit) + " bytes");
}

/// `call()`, or nothing if it threw.
template <class Call>
auto guarded(const Route& route, const base::Logger& log, const Call& call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::exception& error) {
    log.error("request handler failed", {{"path", route.path}, {"error", error.what()}});
  } catch (...) {
    log.error("request handler failed", {{"path", route.path}, {"error", "unknown"}});
  }
  return text_reply(500, "internal error");
}

/// The request line without its query, which httplib would take to pieces for nobody.
void set_line(std::string& line, const RequestHead& head) {
  line.assign(head.line);
  if (const std::size_t begin = line.find('?'); begin != std::string::npos) {
    line.erase(begin, line.rfind(' ') - begin);
  }
}

void give_back(std::string& buffer) {
  if (buffer.capacity() > kKeptCapacity && buffer.size() < kKeptCapacity / 2) {
    buffer.shrink_to_fit();
  }
}

}  // namespace

Reply run_handler(const BlockingWork& work, const base::Logger& log) {
  return guarded(*work.route, log, [&work] {
    return work.route->handler(Request{work.query, work.body, work.path});
  });
}

Conversation::Conversation(Service& service, Engine& engine) noexcept
    : service_(service),
      engine_(engine),
      share_(service.bodies) {}

void Conversation::take(std::string_view bytes, std::string& out) {
  const bool kept_before = !in_.empty();
  if (kept_before) {
    in_.append(bytes);
  }
  std::string_view text = kept_before ? std::string_view(in_) : bytes;
  advance(text, out);
  keep(text, kept_before);
  const bool reading_body = stage_ == Stage::Body;
  if (reading_body && !share_.resize(in_.size() + body_.size())) {
    ++service_.refused_bodies;
    refuse(text_reply(429, "too many large requests at a time, try again"), out);
  }
  if (stage_ == Stage::Over) {
    std::string().swap(in_);
    std::string().swap(body_);
    share_.release();
  }
}

/// `rest` is the end of in_, or was never in it.
void Conversation::keep(std::string_view rest, bool kept_before) {
  if (kept_before) {
    in_.erase(0, in_.size() - rest.size());
  } else {
    in_.assign(rest);
  }
  give_back(in_);
}

void Conversation::advance(std::string_view& text, std::string& out) {
  bool goes_on = stage_ != Stage::Waiting && stage_ != Stage::Streaming && stage_ != Stage::Over;
  paused_ = false;
  while (goes_on) {
    if (out.size() > kLongOutput) {
      paused_ = !text.empty();
      return;
    }
    goes_on = head_read_ ? take_body(text, out) : take_head(text, out);
  }
}

/// The functions below say whether there is more to do with the text at hand.
bool Conversation::take_head(std::string_view& text, std::string& out) {
  while (text.starts_with("\r\n") && scanner_.size() == 0) {
    text.remove_prefix(2);  // Empty lines before a request are noise of old clients, and allowed.
    scanner_ = {};
  }
  stage_ = text.empty() ? Stage::Idle : Stage::Head;
  if (text.empty()) {
    return false;
  }
  const HeadScanner::State state = scanner_.scan(text);
  if (state == HeadScanner::State::Malformed) {
    return refuse(text_reply(400, "malformed line end"), out);
  }
  const bool complete = state == HeadScanner::State::Complete;
  if ((complete ? scanner_.size() : text.size()) > service_.limits.head_bytes) {
    return refuse(text_reply(431, "request head too large"), out);
  }
  if (!complete) {
    return false;
  }
  RequestHead head;
  if (auto refused = parse_head(text.substr(0, scanner_.size()), head)) {
    return refuse(*refused, out);
  }
  text.remove_prefix(scanner_.size());
  scanner_ = {};
  return begin_request(head, out);
}

bool Conversation::begin_request(const RequestHead& head, std::string& out) {
  const Route* route = find_route(head.path);
  pending_.route = route;
  pending_.frame.http10 = head.http10;
  pending_.frame.head_only = head.method == "HEAD";
  if (auto refused = refusal(head, route)) {
    pending_.frame.allow = refused->status == 405 ? allowed_methods(*route) : "";
    service_.refused_bodies += refused->status == 429 ? 1 : 0;
    return refuse(*refused, out);
  }
  // Nobody reads a body of GET: what follows it cannot be found.
  const bool takes_body = route->method == Method::Post;
  pending_.frame.stays_open = head.keeps_alive && (takes_body || !head.has_body());
  set_line(pending_.line, head);
  pending_.path.assign(head.path);
  pending_.query.assign(head.query);
  pending_.chunked = takes_body && !head.transfer_encoding.empty();
  pending_.length = takes_body ? head.content_length.value_or(0) : 0;
  chunks_ = ChunkedDecoder(service_.limits.body_bytes);
  head_read_ = true;
  if (head.expects_continue && takes_body && head.has_body()) {
    out.append(kContinue);
  }
  return true;
}

const Route* Conversation::find_route(std::string_view path) const noexcept {
  const Routes& routes = service_.routes;
  const auto found = std::find_if(routes.begin(), routes.end(),
                                  [path](const Route& route) { return matches(route, path); });
  return found == routes.end() ? nullptr : &*found;
}

/// What is wrong with the request, as far as its head tells; nothing if it may be served.
std::optional<Reply> Conversation::refusal(const RequestHead& head, const Route* route) const {
  if (route == nullptr) {
    return text_reply(404, "no such page");
  }
  if (!allows(*route, head.method)) {
    return text_reply(405, "method not allowed, use " + std::string(allowed_methods(*route)));
  }
  if (head.expects_other) {
    return text_reply(417, "cannot meet that expectation");
  }
  if (auto refused = route->guard ? route->guard(head) : std::nullopt) {
    return refused;
  }
  if (route->method == Method::Get) {
    return std::nullopt;
  }
  if (!is_json(head.content_type)) {
    return text_reply(415, "content type must be application/json");
  }
  // A small compressed body could become a huge one.
  if (!head.content_encoding.empty() && !equal_ignoring_case(head.content_encoding, "identity")) {
    return text_reply(415, "content encoding is not supported");
  }
  return body_refusal(head);
}

std::optional<Reply> Conversation::body_refusal(const RequestHead& head) const {
  if (!head.transfer_encoding.empty()) {
    return equal_ignoring_case(head.transfer_encoding, "chunked")
               ? std::nullopt
               : std::optional(text_reply(501, "transfer encoding is not supported"));
  }
  if (!head.content_length) {
    return text_reply(411, "content length required");
  }
  if (*head.content_length > service_.limits.body_bytes) {
    return too_large(service_.limits.body_bytes);
  }
  if (!service_.bodies.fits(*head.content_length)) {
    return text_reply(429, "too many large requests at a time, try again");
  }
  return std::nullopt;
}

bool Conversation::take_body(std::string_view& text, std::string& out) {
  if (pending_.chunked) {
    return take_chunks(text, out);
  }
  if (text.size() < pending_.length) {
    stage_ = Stage::Body;
    return false;
  }
  const std::string_view body = text.substr(0, pending_.length);
  text.remove_prefix(pending_.length);
  run(body, out);
  return stage_ == Stage::Idle;
}

bool Conversation::take_chunks(std::string_view& text, std::string& out) {
  switch (chunks_.take(text, body_)) {
    case ChunkedDecoder::State::Partial:
      stage_ = Stage::Body;
      return false;
    case ChunkedDecoder::State::Malformed:
      return refuse(text_reply(400, "the body is incomplete or malformed"), out);
    case ChunkedDecoder::State::TooLarge:
      return refuse(too_large(service_.limits.body_bytes), out);
    case ChunkedDecoder::State::Complete:
      break;
  }
  const std::string body = std::exchange(body_, {});
  run(body, out);
  return stage_ == Stage::Idle;
}

void Conversation::run(std::string_view body, std::string& out) {
  const Route& route = *pending_.route;
  const Request request{pending_.query, body, pending_.path};
  head_read_ = false;
  if (route.stream) {
    return begin_stream(out);
  }
  if (!route.may_block) {
    reply(guarded(route, service_.log, [&] { return route.handler(request); }), out);
    return;
  }
  if (route.quick) {
    const auto quick = [&]() -> std::optional<Reply> { return route.quick(request); };
    if (auto answer = guarded(route, service_.log, quick)) {
      reply(*std::move(answer), out);
      return;
    }
  }
  body_.assign(body);
  stage_ = Stage::Waiting;
}

BlockingWork Conversation::take_work() noexcept {
  return {pending_.route, std::exchange(pending_.path, {}), std::exchange(pending_.query, {}),
          std::exchange(body_, {})};
}

const std::shared_ptr<Broadcast>& Conversation::stream() const noexcept {
  return pending_.route->stream;
}

void Conversation::answer(Reply text, std::string& out) {
  reply(std::move(text), out);
  take({}, out);
}

void Conversation::time_out(std::string& out) {
  const bool in_head = stage_ == Stage::Head;
  refuse(text_reply(408, in_head ? "the request took too long" : "the body took too long"), out);
  take({}, out);
}

void Conversation::reply(Reply reply, std::string& out) {
  // Decided once: draining may begin any moment, and the client believes what the header says.
  pending_.frame.stays_open = pending_.frame.stays_open && !service_.draining;
  engine_.answer(pending_.line, std::move(reply), pending_.frame, out);
  finish_reply();
}

void Conversation::begin_stream(std::string& out) {
  const bool head_only = pending_.frame.head_only;
  append_stream_head(out, pending_.route->stream_headers);
  pending_.frame.stays_open = false;
  finish_reply();
  stage_ = head_only ? Stage::Over : Stage::Streaming;
}

void Conversation::finish_reply() {
  service_.requests.fetch_add(1, std::memory_order_relaxed);
  ++replies_;
  stage_ = pending_.frame.stays_open ? Stage::Idle : Stage::Over;
  pending_.frame = {};
  share_.release();
}

/// Ends the connection, since nobody knows where the next request would begin. False.
bool Conversation::refuse(const Reply& text, std::string& out) {
  pending_.frame.stays_open = false;
  append_reply(out, text, pending_.frame);
  finish_reply();
  return false;
}

}  // namespace injector::http
