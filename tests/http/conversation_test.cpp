// HTTP over memory: what comes out for what goes in, however it is cut.

#include "http/conversation.h"

#include <atomic>
#include <string>
#include <string_view>

#include <catch2/catch.hpp>

#include "tests/support/test_server.h"

namespace injector::tests {
namespace {

using http::Conversation;
using Stage = Conversation::Stage;

struct Bench {
  explicit Bench(http::Route route = quickly(echo), http::ServerLimits limits = {})
      : service{{std::move(route)},
                limits,
                base::Logger::silent(),
                http::BodyBudget(limits.body_bytes_in_flight)} {}

  http::Service service;
  http::Engine engine;
  Conversation conversation{service, engine};
  std::string out;
};

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos;
       at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

TEST_CASE("conversation: a pipeline cut anywhere gives the same answers", "[http]") {
  const std::string chunked =
      "POST /mutate HTTP/1.1\r\nContent-Type: application/json\r\nTransfer-Encoding: "
      "chunked\r\n\r\n"
      "3\r\nabc\r\n0\r\n\r\n";
  const std::string whole = post("first") + chunked + "\r\n" + post("") + post("last");
  Bench bench;
  bench.conversation.take(whole, bench.out);
  REQUIRE(count(bench.out, "HTTP/1.1 200 OK\r\n") == 4);
  for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
    Bench other;
    other.conversation.take(whole.substr(0, cut), other.out);
    other.conversation.take(whole.substr(cut), other.out);
    REQUIRE(other.out == bench.out);
    REQUIRE(other.conversation.stage() == Stage::Idle);
  }
}

TEST_CASE("conversation: its stage tells what it waits for", "[http]") {
  Bench bench;
  CHECK(bench.conversation.stage() == Stage::Idle);
  bench.conversation.take("POST /mutate HTTP/1.1\r\n", bench.out);
  CHECK(bench.conversation.stage() == Stage::Head);
  bench.conversation.take("Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{",
                          bench.out);
  CHECK(bench.conversation.stage() == Stage::Body);
  bench.conversation.take("}", bench.out);
  CHECK(bench.conversation.stage() == Stage::Idle);
  CHECK(bench.conversation.replies() == 1);
}

TEST_CASE("conversation: nothing is understood behind a refusal", "[http]") {
  Bench bench;
  bench.conversation.take("POST /mutate HTTP/1.1\r\nno colon\r\n\r\n" + post("smuggled"),
                          bench.out);
  CHECK(bench.conversation.stage() == Stage::Over);
  CHECK(bench.out.starts_with("HTTP/1.1 400 Bad Request\r\n"));
  CHECK(bench.out.find("smuggled") == std::string::npos);
  bench.conversation.take(post("more"), bench.out);
  CHECK(count(bench.out, "HTTP/1.1 ") == 1);
}

TEST_CASE("conversation: a quick answer is given at once and another waits", "[http]") {
  http::Route route = blocking([](std::string_view) { return http::Reply{200, "waited"}; });
  route.quick = [](const http::Request& request) -> std::optional<http::Reply> {
    if (request.body == "slow") {
      return std::nullopt;
    }
    return http::Reply{200, "quick"};
  };
  Bench bench(route);
  bench.conversation.take(post("fast"), bench.out);
  CHECK(bench.out.ends_with("quick"));
  bench.out.clear();
  bench.conversation.take(post("slow") + post("fast"), bench.out);
  REQUIRE(bench.conversation.stage() == Stage::Waiting);
  CHECK(bench.out.empty());
  const http::BlockingWork work = bench.conversation.take_work();
  CHECK(work.body == "slow");
  CHECK(work.query == "timeout=10s");
  bench.conversation.answer(http::run_handler(work, base::Logger::silent()), bench.out);
  CHECK(bench.out.find("waited") < bench.out.find("quick"));
  CHECK(bench.conversation.stage() == Stage::Idle);
}

TEST_CASE("conversation: requests without end wait until their answers were taken", "[http]") {
  Bench bench(quickly([](std::string_view) {
    return http::Reply{200, std::string(100'000, 'a')};
  }));
  std::string many;
  for (int i = 0; i < 50; ++i) {
    many += post("{}");
  }
  bench.conversation.take(many, bench.out);
  CHECK(bench.conversation.paused());
  CHECK(bench.out.size() < 500'000);
  while (bench.conversation.paused()) {
    bench.out.clear();
    bench.conversation.take({}, bench.out);
  }
  CHECK(bench.conversation.replies() == 50);
}

TEST_CASE("conversation: large bodies beyond the budget are refused, small ones never", "[http]") {
  http::ServerLimits limits;
  limits.body_bytes_in_flight = 1'000'000;
  Bench bench(quickly(echo), limits);
  Conversation second(bench.service, bench.engine);
  Conversation third(bench.service, bench.engine);
  const std::string large = post(std::string(900'000, 'a'));
  bench.conversation.take(large.substr(0, 800'000), bench.out);
  CHECK(bench.service.bodies.used() > 700'000);
  std::string refused;
  second.take(large, refused);
  CHECK(refused.starts_with("HTTP/1.1 429 Too Many Requests\r\n"));
  CHECK(refused.find("Retry-After: 1\r\n") != std::string::npos);
  CHECK(second.stage() == Stage::Over);
  std::string small;
  third.take(post(std::string(30'000, 'b')), small);
  CHECK(small.starts_with("HTTP/1.1 200 OK\r\n"));
  bench.conversation.take(large.substr(800'000), bench.out);
  CHECK(bench.out.starts_with("HTTP/1.1 200 OK\r\n"));
  CHECK(bench.service.bodies.used() == 0);
  CHECK(bench.service.refused_bodies == 1);
}

TEST_CASE("conversation: a body that grows over the budget chunk by chunk is refused", "[http]") {
  http::ServerLimits limits;
  limits.body_bytes_in_flight = 100'000;
  Bench bench(quickly(echo), limits);
  bench.conversation.take(
      "POST /mutate HTTP/1.1\r\nContent-Type: application/json\r\nTransfer-Encoding: "
      "chunked\r\n\r\n",
      bench.out);
  const std::string chunk = "2710\r\n" + std::string(10'000, 'a') + "\r\n";
  for (int i = 0; i < 20 && bench.conversation.stage() != Stage::Over; ++i) {
    bench.conversation.take(chunk, bench.out);
  }
  CHECK(bench.out.starts_with("HTTP/1.1 429 "));
  CHECK(bench.service.bodies.used() == 0);
}

TEST_CASE("conversation: a body given up gives its share back", "[http]") {
  Bench bench;
  {
    Conversation other(bench.service, bench.engine);
    other.take(post(std::string(500'000, 'a')).substr(0, 400'000), bench.out);
    CHECK(bench.service.bodies.used() > 0);
  }
  CHECK(bench.service.bodies.used() == 0);
}

TEST_CASE("conversation: a Range of many parts is as good as none", "[http]") {
  std::string range = "Range: bytes=0-0";
  while (range.size() < 8'000) {
    range += ",0-0";
  }
  Bench bench;
  bench.conversation.take(post("whole", range + "\r\n"), bench.out);
  CHECK(bench.out.starts_with("HTTP/1.1 200 OK\r\n"));
  CHECK(bench.out.ends_with("whole"));
}

}  // namespace
}  // namespace injector::tests
