// Stopping: nobody who was let in is turned away.

#include <atomic>
#include <chrono>
#include <latch>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/test_server.h"

namespace injector::tests {
namespace {

using std::chrono::seconds;

TEST_CASE("server: while draining requests are answered and connections let go", "[http]") {
  const TestServer test;
  TlsClient old = test.connect();
  REQUIRE(old.ask(post("{}")).value().header("connection").empty());
  test.server->begin_drain();
  const auto last = old.ask(post("{}"));
  REQUIRE(last);
  CHECK(last->status == 200);
  CHECK(last->header("connection") == "close");
  CHECK(old.wait_for_close());
  TlsClient fresh = test.connect();
  CHECK(fresh.ask(post("{}")).value().header("connection") == "close");
  CHECK(test.server->stop(seconds(20)));
}

TEST_CASE("server: stop finishes what is in flight", "[http]") {
  std::latch in_handler(1);
  std::latch release(1);
  TestServer test(blocking([&](std::string_view body) {
    in_handler.count_down();
    release.wait();
    return echo(body);
  }));
  TlsClient client = test.connect();
  REQUIRE(client.send(post("in flight")));
  in_handler.wait();
  std::atomic<bool> clean{false};
  std::jthread stopping([&] { clean = test.server->stop(seconds(20)); });
  // The listener is closed while the request is still being worked on.
  CHECK(eventually([&test] { return !test.connect({.tls = false}).connected(); }));
  release.count_down();
  const auto answer = client.receive();
  REQUIRE(answer);
  CHECK(answer->body == "in flight");
  CHECK(answer->header("connection") == "close");
  stopping.join();
  CHECK(clean);
}

TEST_CASE("server: stop closes idle connections at once", "[http]") {
  const TestServer test;
  TlsClient client = test.connect();
  REQUIRE(client.ask(post("{}")).value().status == 200);
  CHECK(test.server->stop(seconds(20)));
  CHECK(client.wait_for_close());
  CHECK(test.server->stats().connections == 0);
  CHECK(test.server->stats().threads == 0);
}

TEST_CASE("server: stop cuts off a client that does not finish in time", "[http]") {
  const TestServer test;
  TlsClient client = test.connect();
  REQUIRE(client.send("POST /mutate HTTP/1.1\r\nHost: "));
  REQUIRE(eventually([&test] { return test.server->stats().idle == 0; }));
  CHECK_FALSE(test.server->stop(std::chrono::milliseconds(50)));
  CHECK(test.server->stats().connections == 0);
}

TEST_CASE("server: a client that had just connected when stop began is served", "[http]") {
  const TestServer test;
  TlsClient client = test.connect();
  std::jthread stopping([&] { test.server->stop(seconds(20)); });
  CHECK(client.ask(post("{}")).value_or(HttpAnswer{}).status == 200);
}

TEST_CASE("server: stop can be repeated and a stopped server destroyed", "[http]") {
  const TestServer test;
  CHECK(test.server->stop(seconds(1)));
  CHECK(test.server->stop(seconds(1)));
}

TEST_CASE("server: draining under load fails no request", "[http]") {
  const TestServer test;
  constexpr int kClients = 6;
  std::atomic<int> answered{0};
  std::atomic<int> failures{0};
  std::atomic<int> closed_by_server{0};
  std::atomic<bool> routed{true};  // The cluster still sends us new connections.
  std::atomic<int> connecting{0};
  const auto next_connection = [&]() -> std::optional<TlsClient> {
    ++connecting;
    std::optional<TlsClient> client;
    if (routed) {
      client.emplace(test.server->port());
      failures += client->connected() ? 0 : 1;
    }
    --connecting;
    return client;
  };
  const auto drive = [&] {
    while (auto client = next_connection()) {
      for (bool open = client->connected(); open;) {
        const auto answer = client->ask(post(R"({"kind":"AdmissionReview"})"));
        failures += answer && answer->status == 200 ? 0 : 1;
        ++answered;
        open = answer && answer->header("connection") != "close";
      }
      ++closed_by_server;
    }
  };
  std::vector<std::jthread> clients;
  for (int i = 0; i < kClients; ++i) {
    clients.emplace_back(drive);
  }
  const auto more = [&answered](int count) {
    return [&answered, target = answered + count] { return answered >= target; };
  };
  CHECK(eventually(more(300)));
  test.server->begin_drain();
  CHECK(eventually(more(300)));
  routed = false;
  CHECK(eventually([&connecting] { return connecting == 0; }));
  // Connections that have just been made and requests in flight are finished by stop().
  CHECK(test.server->stop(seconds(20)));
  clients.clear();
  CHECK(failures == 0);
  CHECK(closed_by_server >= kClients);
}

}  // namespace
}  // namespace injector::tests
