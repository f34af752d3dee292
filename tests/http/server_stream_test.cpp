// Replies that go on: server-sent events to clients that come, stay, read slowly and leave.

#include <chrono>
#include <memory>
#include <string>

#include <catch2/catch.hpp>

#include "http/broadcast.h"
#include "http/head.h"
#include "tests/support/test_server.h"

namespace injector::tests {
namespace {

using namespace std::chrono_literals;
using http::Broadcast;
using http::event_message;

const std::string kGet = "GET /events HTTP/1.1\r\nHost: here\r\n\r\n";

http::Route stream_of(const std::shared_ptr<Broadcast>& broadcast) {
  http::Route route;
  route.path = "/events";
  route.stream = broadcast;
  route.stream_headers = {{"Cache-Control", "no-store"}};
  return route;
}

TEST_CASE("stream: a client gets what was kept, then what is published", "[http]") {
  const auto broadcast = std::make_shared<Broadcast>(2);
  for (const char* text : {"one", "two", "three"}) {
    broadcast->publish(event_message(text));
  }
  const TestServer server(stream_of(broadcast));
  TlsClient client = server.connect();
  REQUIRE(client.send(kGet));
  const auto head = client.receive();
  REQUIRE(head);
  REQUIRE(head->status == 200);
  REQUIRE(head->header("content-type") == "text/event-stream");
  REQUIRE(head->header("cache-control") == "no-store");
  REQUIRE(client.receive_until("three\n\n") == "data: two\n\ndata: three\n\n");
  broadcast->publish(event_message("four"));
  REQUIRE(client.receive_until("\n\n") == "data: four\n\n");
}

TEST_CASE("stream: every client has its own place in it", "[http]") {
  const auto broadcast = std::make_shared<Broadcast>(8);
  const TestServer server(stream_of(broadcast));
  TlsClient early = server.connect();
  REQUIRE(early.send(kGet));
  broadcast->publish(event_message("one"));
  REQUIRE(early.receive_until("one\n\n"));
  TlsClient late = server.connect();
  REQUIRE(late.send(kGet));
  broadcast->publish(event_message("two"));
  REQUIRE(early.receive_until("two\n\n") == "data: two\n\n");
  REQUIRE(late.receive_until("two\n\n")->find("data: one\n\n") != std::string::npos);
}

TEST_CASE("stream: a client that does not read misses messages and delays nobody", "[http]") {
  const auto broadcast = std::make_shared<Broadcast>(4);
  const TestServer server(stream_of(broadcast));
  TlsClient sleeper = server.connect();
  TlsClient reader = server.connect();
  REQUIRE(sleeper.send(kGet));
  REQUIRE(reader.send(kGet));
  REQUIRE(reader.receive_until("\r\n\r\n"));
  const std::string large(100'000, 'x');
  for (int i = 0; i < 100; ++i) {
    const std::string mark = "<" + std::to_string(i) + ">";
    broadcast->publish(event_message(large + mark));
    REQUIRE(reader.receive_until(mark + "\n\n"));
  }
  const auto late = sleeper.receive_until("<99>\n\n");
  REQUIRE(late);
  REQUIRE(late->size() < 100 * large.size());
}

TEST_CASE("stream: silence is broken by comments", "[http]") {
  http::ServerOptions options;
  options.limits.heartbeat = 20ms;
  const TestServer server(stream_of(std::make_shared<Broadcast>(1)), options);
  TlsClient client = server.connect();
  REQUIRE(client.send(kGet));
  REQUIRE(client.receive());
  REQUIRE(client.receive_until(":\n\n:\n\n") == ":\n\n:\n\n");
}

TEST_CASE("stream: a client that leaves is forgotten", "[http]") {
  const auto broadcast = std::make_shared<Broadcast>(1);
  const TestServer server(stream_of(broadcast));
  {
    TlsClient client = server.connect();
    REQUIRE(client.send(kGet));
    REQUIRE(client.receive());
    REQUIRE(server.server->stats().connections == 1);
  }
  REQUIRE(eventually([&] { return server.server->stats().connections == 0; }));
  broadcast->publish(event_message("nobody there"));
}

TEST_CASE("stream: does not keep the server from stopping", "[http]") {
  const TestServer server(stream_of(std::make_shared<Broadcast>(1)));
  TlsClient client = server.connect();
  REQUIRE(client.send(kGet));
  REQUIRE(client.receive());
  REQUIRE(server.server->stop(10s));
  REQUIRE(client.receive_all().empty());
}

TEST_CASE("stream: gives way where there is no room for a request", "[http]") {
  http::ServerOptions options;
  options.max_connections = 2;
  options.threads = 1;
  const TestServer server(stream_of(std::make_shared<Broadcast>(1)), options);
  TlsClient one = server.connect();
  TlsClient two = server.connect();
  for (TlsClient* client : {&one, &two}) {
    REQUIRE(client->send(kGet));
    REQUIRE(client->receive());
  }
  TlsClient third = server.connect();
  REQUIRE(third.connected());
  REQUIRE(third.send(kGet));
  REQUIRE(third.receive());
  REQUIRE(one.wait_for_close());
}

TEST_CASE("stream: HEAD gets the head alone", "[http]") {
  const auto broadcast = std::make_shared<Broadcast>(1);
  broadcast->publish(event_message("one"));
  const TestServer server(stream_of(broadcast));
  TlsClient client = server.connect();
  REQUIRE(client.send("HEAD /events HTTP/1.1\r\nHost: here\r\n\r\n"));
  REQUIRE(client.receive()->status == 200);
  REQUIRE(client.wait_for_close());
}

TEST_CASE("route: a guard refuses by the head, before the body is read", "[http]") {
  http::Route route = quickly(echo);
  route.guard = [](const http::RequestHead& head) -> std::optional<http::Reply> {
    const bool welcome = head.host == "here" && head.origin == "http://here" &&
                         head.fetch_site == "same-origin" && head.authorization == "Bearer x" &&
                         head.cookie == "a=b";
    return welcome ? std::nullopt : std::optional(http::text_reply(403, "no"));
  };
  const TestServer server(route);
  const std::string request =
      "POST /mutate HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"
      "Origin: http://here\r\nSec-Fetch-Site: same-origin\r\nAuthorization: Bearer x\r\n"
      "Cookie: a=b\r\nHost: ";
  TlsClient stranger = server.connect();
  REQUIRE(stranger.ask(request + "elsewhere\r\n\r\n")->status == 403);
  TlsClient friendly = server.connect();
  REQUIRE(friendly.ask(request + "here\r\n\r\n{}")->status == 200);
}

TEST_CASE("route: a subtree answers what is below it, and the reply's headers are sent", "[http]") {
  http::Route route;
  route.path = "/pods";
  route.subtree = true;
  route.handler = [](const http::Request& request) {
    return http::Reply{200, std::string(request.path), "text/plain", {{"X-Frame-Options", "DENY"}}};
  };
  const TestServer server(route);
  TlsClient client = server.connect();
  const auto get = [&](const std::string& path) {
    return client.ask("GET " + path + " HTTP/1.1\r\nHost: here\r\n\r\n");
  };
  REQUIRE(get("/pods")->body == "/pods");
  const auto below = get("/pods/shop/web?x=y");
  REQUIRE(below->body == "/pods/shop/web");
  REQUIRE(below->header("x-frame-options") == "DENY");
  REQUIRE(get("/podsx")->status == 404);
}

}  // namespace
}  // namespace injector::tests
