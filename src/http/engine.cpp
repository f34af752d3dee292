#include "http/engine.h"

#include <algorithm>
#include <utility>

namespace injector::http {
namespace {

/// A request line to read, and a string to write to.
class MemoryStream final : public httplib::Stream {
 public:
  MemoryStream(std::string_view request_line, std::string& out)
      : in_(request_line),
        out_(out) {}

  [[nodiscard]] bool is_readable() const override { return true; }

  [[nodiscard]] bool is_writable() const override { return true; }

  ssize_t read(char* to, std::size_t size) override {
    if (in_.empty()) {
      in_ = std::exchange(rest_, {});
    }
    const std::size_t count = std::min(size, in_.size());
    std::copy_n(in_.data(), count, to);
    in_.remove_prefix(count);
    return static_cast<ssize_t>(count);
  }

  ssize_t write(const char* from, std::size_t size) override {
    out_.append(from, size);
    return static_cast<ssize_t>(size);
  }

  void get_remote_ip_and_port(std::string& /*ip*/, int& /*port*/) const override {}

  void get_local_ip_and_port(std::string& /*ip*/, int& /*port*/) const override {}

  [[nodiscard]] socket_t socket() const override { return INVALID_SOCKET; }

 private:
  std::string_view in_;
  std::string_view rest_ = "\r\n\r\n";  // After the request line: no headers.
  std::string& out_;                    // Not owned.
};

}  // namespace

Engine::Engine() {
  set_pre_routing_handler([this](const httplib::Request&, httplib::Response& response) {
    write(response);
    return HandlerResponse::Handled;
  });
  set_post_routing_handler(
      [this](const httplib::Request&, httplib::Response& response) { finish(response); });
}

void Engine::answer(std::string_view request_line, Reply reply, const ReplyFrame& frame,
                    std::string& out) {
  constexpr std::size_t kHeadRoom = 256;
  out.reserve(out.size() + kHeadRoom + reply.body.size());
  reply_ = std::move(reply);
  frame_ = frame;
  MemoryStream stream(request_line, out);
  bool ignored = false;  // httplib's idea of whether to close; the frame knows more.
  static_cast<void>(process_request(stream, false, ignored, {}));
}

void Engine::write(httplib::Response& response) {
  response.status = reply_.status;
  response.body = std::move(reply_.body);
  response.set_header("Content-Type", reply_.content_type);
  for (const auto& [name, value] : reply_.headers) {
    response.set_header(name, value);
  }
}

/// Headers that are ours to decide, in place of httplib's.
void Engine::finish(httplib::Response& response) const {
  for (const char* name : {"Keep-Alive", "Accept-Ranges", "Connection"}) {
    response.headers.erase(name);
  }
  if (!frame_.stays_open) {
    response.set_header("Connection", "close");
  } else if (frame_.http10) {
    response.set_header("Connection", "keep-alive");
  }
  if (reply_.status == kTooManyRequests) {
    response.set_header("Retry-After", kRetryAfter);
  }
}

}  // namespace injector::http
