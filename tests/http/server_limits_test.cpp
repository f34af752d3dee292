// Slow, greedy and vanishing clients; many clients at once.

#include <atomic>
#include <chrono>
#include <deque>
#include <latch>
#include <poll.h>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "http/listener.h"
#include "tests/support/test_server.h"

namespace injector::tests {
namespace {

using std::chrono::milliseconds;

constexpr base::Duration kShort{150};

http::ServerOptions with_limits(http::ServerLimits limits) {
  http::ServerOptions options;
  options.limits = limits;
  return options;
}

/// Sends a byte now and then, for as long as the server takes it; the answer, if there is one.
std::optional<HttpAnswer> dribble(TlsClient& client, const std::string& bytes) {
  for (const char byte : bytes) {
    pollfd answered{client.fd(), POLLIN, 0};
    if (::poll(&answered, 1, 20) > 0 || !client.send(std::string_view(&byte, 1))) {
      break;
    }
  }
  return client.receive();
}

TEST_CASE("server: a body over the limit is refused by its length, without being read", "[http]") {
  TestServer test;
  TlsClient client = test.connect();
  const std::string body(std::size_t{10} << 20U, 'x');
  // The server may stop taking it in at any point: what counts is that the answer arrives.
  client.send(post(body));
  const auto answer = client.receive();
  REQUIRE(answer);
  CHECK(answer->status == 413);
  CHECK(answer->header("connection") == "close");
}

TEST_CASE("server: a body of exactly the limit is served", "[http]") {
  TestServer test(quickly(echo), with_limits({.body_bytes = 100'000}));
  const std::string most(100'000, 'x');
  TlsClient client = test.connect();
  CHECK((client.ask(post(most)).value().body == most));
  CHECK(client.ask(post(most + "x")).value().status == 413);
}

TEST_CASE("server: a chunked body over the limit is refused as it grows", "[http]") {
  TestServer test(quickly(echo), with_limits({.body_bytes = 100'000}));
  const auto chunk = GENERATE(as<std::string>(), "1388\r\n" + std::string(5000, 'x') + "\r\n",
                              "1;" + std::string(5000, 'x') + "\r\ny\r\n");
  TlsClient client = test.connect();
  REQUIRE(
      client.send("POST /mutate HTTP/1.1\r\nContent-Type: application/json\r\n"
                  "Transfer-Encoding: chunked\r\n\r\n"));
  for (int i = 0; i < 100 && client.send(chunk); ++i) {
  }
  const auto answer = client.receive();
  REQUIRE(answer);
  CHECK(answer->status == 413);
}

TEST_CASE("server: a flood of headers is refused", "[http]") {
  TestServer test;
  TlsClient client = test.connect();
  std::string flood = "POST /mutate HTTP/1.1\r\n";
  for (int i = 0; i < 20000; ++i) {
    flood += "X-Header: value\r\n";
  }
  client.send(flood);
  const auto answer = client.receive();
  REQUIRE(answer);
  CHECK(answer->status == 431);
  CHECK(client.wait_for_close());
}

TEST_CASE("server: a dribbled head is cut off by its total time", "[http]") {
  TestServer test(quickly(echo), with_limits({.head = kShort}));
  TlsClient client = test.connect();
  const auto answer = dribble(client, "POST /mutate HTTP/1.1\r\nX: " + std::string(5000, 'a'));
  REQUIRE(answer);
  CHECK(answer->status == 408);
}

TEST_CASE("server: a dribbled body is cut off by its total time", "[http]") {
  TestServer test(quickly(echo), with_limits({.body = kShort}));
  TlsClient client = test.connect();
  const std::string whole = post(std::string(5000, 'a'));
  REQUIRE(client.send(whole.substr(0, whole.size() - 5000)));
  const auto answer = dribble(client, std::string(4999, 'a'));
  REQUIRE(answer);
  CHECK(answer->status == 408);
}

TEST_CASE("server: a client that never shakes hands is closed", "[http]") {
  TestServer test(quickly(echo), with_limits({.handshake = kShort}));
  TlsClient silent = test.connect({.tls = false});
  TlsClient slow = test.connect({.tls = false});
  REQUIRE(slow.send("\x16\x03"));
  CHECK(silent.wait_for_close());
  CHECK(slow.receive_all().size() < 100);
  CHECK(eventually([&test] { return test.server->stats().connections == 0; }));
}

TEST_CASE("server: a client that does not take its answer is cut off", "[http]") {
  const std::string huge(std::size_t{64} << 20U, 'y');
  TestServer test(quickly([&huge](std::string_view) {
                    return http::Reply{200, huge};
                  }),
                  with_limits({.reply = kShort, .linger = kShort}));
  TlsClient client = test.connect();
  REQUIRE(client.send(post("{}")));
  CHECK(eventually([&test] { return test.server->stats().connections == 0; }));
}

TEST_CASE("server: idle connections are closed after their time", "[http]") {
  TestServer test(quickly(echo), with_limits({.idle = kShort}));
  TlsClient used = test.connect();
  TlsClient unused = test.connect();
  REQUIRE(used.ask(post("{}")).value().status == 200);
  CHECK(used.wait_for_close());
  CHECK(unused.wait_for_close());
}

TEST_CASE("server: a client that leaves mid-request leaves nothing behind", "[http]") {
  std::atomic<int> calls{0};
  TestServer test(quickly([&calls](std::string_view body) {
    ++calls;
    return echo(body);
  }));
  const std::string whole = post("a body that does not come");
  for (const std::size_t sent : {std::size_t{1}, std::size_t{30}, whole.size() - 5}) {
    TlsClient client = test.connect();
    REQUIRE(client.send(whole.substr(0, sent)));
  }
  CHECK(eventually([&test] { return test.server->stats().connections == 0; }));
  CHECK(calls == 0);
  CHECK(test.connect().ask(post("{}")).value().status == 200);
}

TEST_CASE("server: a client that leaves during the answer does no harm", "[http]") {
  std::latch asked(1);
  std::latch left(1);
  TestServer test(blocking([&](std::string_view body) {
    if (body == "leaving") {
      asked.count_down();
      left.wait();
      return http::Reply{200, std::string(std::size_t{4} << 20U, 'z')};
    }
    return echo(body);
  }));
  {
    TlsClient client = test.connect();
    REQUIRE(client.send(post("leaving")));
    asked.wait();
  }
  left.count_down();
  CHECK(test.connect().ask(post("{}")).value().status == 200);
  CHECK(eventually([&test] { return test.server->stats().connections == 0; }));
}

TEST_CASE("server: idle connections cost no thread and keep no new one waiting", "[http]") {
  TestServer test;
  std::deque<TlsClient> idle;
  for (int i = 0; i < 200; ++i) {
    idle.push_back(test.connect());
    REQUIRE(idle.back().ask(post("{}")).value().status == 200);
  }
  CHECK(eventually([&test] { return test.server->stats().idle == 200; }));
  CHECK(test.server->stats().threads < 20);
  std::deque<TlsClient> more;
  for (int i = 0; i < 50; ++i) {
    more.push_back(test.connect());
    REQUIRE(more.back().ask(post("{}")).value().status == 200);
  }
  for (TlsClient& client : idle) {
    REQUIRE(client.ask(post("{}")).value().status == 200);
  }
}

TEST_CASE("server: slow handlers keep no other request waiting", "[http]") {
  constexpr int kSlow = 40;
  std::latch all_in(kSlow);
  std::latch release(1);
  TestServer test(blocking([&](std::string_view body) {
    if (body == "slow") {
      all_in.count_down();
      release.wait();
    }
    return echo(body);
  }));
  std::deque<TlsClient> slow;
  for (int i = 0; i < kSlow; ++i) {
    slow.push_back(test.connect());
    REQUIRE(slow.back().send(post("slow")));
  }
  all_in.wait();
  CHECK(test.connect().ask(post("fast")).value().body == "fast");
  release.count_down();
  for (TlsClient& client : slow) {
    CHECK(client.receive().value().body == "slow");
  }
}

TEST_CASE("server: five hundred connections at once are all answered", "[http]") {
  TestServer test;
  constexpr int kThreads = 10;
  constexpr int kEach = 50;
  std::atomic<int> answered{0};
  std::latch all_open(kThreads);
  std::vector<std::jthread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      std::deque<TlsClient> clients;
      for (int i = 0; i < kEach; ++i) {
        clients.push_back(test.connect());
      }
      all_open.arrive_and_wait();
      for (TlsClient& client : clients) {
        client.send(post("{}"));
      }
      for (TlsClient& client : clients) {
        const auto answer = client.receive();
        answered += answer && answer->status == 200 ? 1 : 0;
      }
    });
  }
  threads.clear();
  CHECK(answered == kThreads * kEach);
}

TEST_CASE("server: at its limit the longest idle connection makes room", "[http]") {
  http::ServerOptions options;
  options.max_connections = 3;
  options.threads = 1;
  TestServer test(quickly(echo), options);
  std::deque<TlsClient> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(test.connect());
    REQUIRE(clients.back().ask(post("{}")).value().status == 200);
  }
  REQUIRE(eventually([&test] { return test.server->stats().idle == 3; }));
  REQUIRE(clients[0].ask(post("{}")).value().status == 200);
  REQUIRE(eventually([&test] { return test.server->stats().idle == 3; }));
  TlsClient newcomer = test.connect();
  CHECK(newcomer.ask(post("{}")).value().status == 200);
  CHECK(clients[1].wait_for_close());
  CHECK(clients[0].ask(post("{}")).value().status == 200);
  CHECK(clients[2].ask(post("{}")).value().status == 200);
}

TEST_CASE("server: at its limit with none idle new connections wait for their turn", "[http]") {
  std::latch busy(2);
  std::latch release(1);
  http::ServerOptions options;
  options.max_connections = 2;
  TestServer test(blocking([&](std::string_view body) {
                    if (body == "slow") {
                      busy.count_down();
                      release.wait();
                    }
                    return echo(body);
                  }),
                  options);
  TlsClient first = test.connect();
  TlsClient second = test.connect();
  REQUIRE(first.send(post("slow")));
  REQUIRE(second.send(post("slow")));
  busy.wait();
  std::atomic<bool> served{false};
  std::jthread third(
      [&] { served = test.connect().ask(post("{}")).value_or(HttpAnswer{}).status == 200; });
  CHECK(test.server->stats().accepted == 2);
  release.count_down();
  CHECK(first.receive().value().status == 200);
  CHECK(second.receive().value().status == 200);
  third.join();
  CHECK(served);
}

TEST_CASE("listen address: the forms that users write are understood", "[http]") {
  const auto parse = [](const char* text) { return http::parse_listen_address(text).value(); };
  CHECK(parse(":8443").host.empty());
  CHECK(parse(":8443").port == 8443);
  CHECK(parse("127.0.0.1:0").host == "127.0.0.1");
  CHECK(parse("[::]:8443").host == "::");
  CHECK(parse("localhost:65535").port == 65535);
  for (const char* bad : {"", "8443", ":", ":x", ":70000", ":-1", "::1:80", "[::1]", "[::1:80",
                          "a b:1", "[localhost]:1", "http://x:1"}) {
    CAPTURE(bad);
    CHECK_FALSE(http::parse_listen_address(bad));
  }
}

TEST_CASE("server: a taken port is an error that names it", "[http]") {
  const TestServer first;
  http::ServerOptions options;
  options.listen = "127.0.0.1:" + std::to_string(first.server->port());
  http::Server second(options, {}, first.certificate.get(), base::Logger::silent());
  const auto started = second.start();
  REQUIRE_FALSE(started);
  CHECK(started.error().message.find(options.listen) != std::string::npos);
  CHECK(started.error().message.find("in use") != std::string::npos);
}

TEST_CASE("server: listens on every address of the machine", "[http]") {
  const auto listener = http::listen_on(":0");
  REQUIRE(listener);
  CHECK(TlsClient(listener.value().port, {.tls = false}).connected());
}

}  // namespace
}  // namespace injector::tests
