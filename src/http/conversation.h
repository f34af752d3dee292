// HTTP/1.1 with one client, over memory: bytes in, bytes out. No socket, no clock, no waiting.
//
//   Conversation conversation(service, engine);
//   conversation.take(received, out);   // Answers what is complete, keeps the rest.
//
// Belongs to one thread at a time.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/log.h"
#include "http/body_budget.h"
#include "http/chunked.h"
#include "http/engine.h"
#include "http/head.h"
#include "http/message.h"
#include "http/options.h"
#include "http/reply_text.h"

namespace injector::http {

/// What all conversations of a server share. Thread-safe; outlives them.
struct Service {
  Routes routes;
  ServerLimits limits;
  base::Logger log;
  BodyBudget bodies;
  std::atomic<bool> draining{false};  // Every reply says that the connection will be closed.
  std::atomic<std::uint64_t> requests{0};
  std::atomic<std::uint64_t> refused_bodies{0};
};

/// A request for a handler that may block: has all that it needs.
struct BlockingWork {
  const Route* route = nullptr;
  std::string path;
  std::string query;
  std::string body;
};

/// Calls a handler; what it throws becomes a log line and a 500.
[[nodiscard]] Reply run_handler(const BlockingWork& work, const base::Logger& log);

class Conversation {
 public:
  enum class Stage {
    Idle,       // Between requests.
    Head,       // A part of a head has come.
    Body,       // A part of a body is missing.
    Waiting,    // For answer().
    Streaming,  // The head of a stream has been written; what follows is the caller's to send.
    Over,       // The last reply has been written: close when it has been sent.
  };

  /// Neither is owned; both outlive this.
  Conversation(Service& service, Engine& engine) noexcept;

  [[nodiscard]] Stage stage() const noexcept { return stage_; }

  /// How many replies were written.
  [[nodiscard]] std::uint64_t replies() const noexcept { return replies_; }

  /// True if there is input left that take() has not looked at yet, because `out` was long enough.
  [[nodiscard]] bool paused() const noexcept { return paused_; }

  /// Appends to `out` what is to be sent. Not while Waiting or Streaming.
  void take(std::string_view bytes, std::string& out);

  /// Once, when it begins Waiting: what is to be answered.
  [[nodiscard]] BlockingWork take_work() noexcept;

  /// The reply to that; then goes on with what has come in meanwhile.
  void answer(Reply reply, std::string& out);

  /// While Streaming: what the client follows.
  [[nodiscard]] const std::shared_ptr<Broadcast>& stream() const noexcept;

  /// The client did not finish its request in time.
  void time_out(std::string& out);

 private:
  /// A request whose head has been understood.
  struct Pending {
    const Route* route = nullptr;
    ReplyFrame frame{};
    bool chunked = false;
    std::uint64_t length = 0;
    std::string line;  // The request line.
    std::string path;
    std::string query;
  };

  void advance(std::string_view& text, std::string& out);
  [[nodiscard]] bool take_head(std::string_view& text, std::string& out);
  [[nodiscard]] bool begin_request(const RequestHead& head, std::string& out);
  [[nodiscard]] bool take_body(std::string_view& text, std::string& out);
  [[nodiscard]] bool take_chunks(std::string_view& text, std::string& out);
  void run(std::string_view body, std::string& out);
  void reply(Reply reply, std::string& out);
  void begin_stream(std::string& out);
  void finish_reply();
  bool refuse(const Reply& reply, std::string& out);
  void keep(std::string_view rest, bool kept_before);

  [[nodiscard]] const Route* find_route(std::string_view path) const noexcept;
  [[nodiscard]] std::optional<Reply> refusal(const RequestHead& head, const Route* route) const;
  [[nodiscard]] std::optional<Reply> body_refusal(const RequestHead& head) const;

  Service& service_;
  Engine& engine_;
  Stage stage_ = Stage::Idle;
  bool paused_ = false;
  std::uint64_t replies_ = 0;
  HeadScanner scanner_;
  Pending pending_;
  bool head_read_ = false;  // pending_ is about a request whose body is awaited.
  ChunkedDecoder chunks_{0};
  std::string in_;    // Received, not understood yet.
  std::string body_;  // Of a chunked request, or what take_work() hands out.
  BodyBudget::Share share_;
};

}  // namespace injector::http
