// What a client sends, cut in two at any place, gets the same answers as in one piece, and ends in
// the same stage.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/log.h"
#include "http/conversation.h"
#include "http/engine.h"

namespace {

namespace http = injector::http;

http::Reply echo(const http::Request& request) {
  return {200, std::string(request.body)};
}

struct Bench {
  // Of the body only: of a head that is both too long and malformed, the cut decides which counts.
  http::ServerLimits limits = [] {
    http::ServerLimits small;
    small.body_bytes = 64;
    return small;
  }();
  http::Service service{
      {{http::Method::Post, "/mutate", echo}, {http::Method::Get, "/healthz", echo}},
      limits,
      injector::base::Logger::silent(),
      http::BodyBudget(limits.body_bytes_in_flight)};
  http::Engine engine;
};

struct Answers {
  std::string text;
  http::Conversation::Stage stage;
};

Answers converse(Bench& bench, std::string_view first, std::string_view second) {
  http::Conversation conversation(bench.service, bench.engine);
  Answers answers;
  conversation.take(first, answers.text);
  if (conversation.stage() != http::Conversation::Stage::Over) {
    conversation.take(second, answers.text);
  }
  answers.stage = conversation.stage();
  return answers;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Bench bench;
  if (size < 1) {
    return 0;
  }
  const std::string text(data + 1, data + size);
  const std::string_view view = text;
  const std::size_t cut = text.empty() ? 0 : *data % text.size();
  const Answers whole = converse(bench, view, {});
  const Answers halves = converse(bench, view.substr(0, cut), view.substr(cut));
  if (whole.text != halves.text || whole.stage != halves.stage) {
    std::abort();
  }
  return 0;
}
