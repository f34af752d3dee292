// What the server makes of HTTP, request by request.

#include <atomic>
#include <stdexcept>
#include <string>

#include <catch2/catch.hpp>

#include "tests/support/test_server.h"

namespace injector::tests {
namespace {

std::string request(const std::string& line, const std::string& headers = "",
                    const std::string& body = "") {
  return line + "\r\nHost: webhook\r\n" + headers + "\r\n" + body;
}

const std::string kJson = "Content-Type: application/json\r\n";

TEST_CASE("server: a posted body is answered", "[http]") {
  TestServer test;
  TlsClient client = test.connect();
  const auto answer = client.ask(post(R"({"a":1})"));
  REQUIRE(answer);
  CHECK(answer->status == 200);
  CHECK(answer->body == R"({"a":1})");
  CHECK(answer->header("content-type") == "application/json");
  CHECK(answer->header("connection").empty());
}

TEST_CASE("server: a thousand requests share one connection", "[http]") {
  TestServer test;
  TlsClient client = test.connect();
  for (int i = 0; i < 1000; ++i) {
    const auto answer = client.ask(post(std::to_string(i)));
    REQUIRE(answer);
    REQUIRE(answer->body == std::to_string(i));
  }
  CHECK(test.server->stats().accepted == 1);
  CHECK(eventually([&test] { return test.server->stats().requests == 1000; }));
}

TEST_CASE("server: pipelined requests are answered in order", "[http]") {
  TestServer test;
  TlsClient client = test.connect();
  REQUIRE(client.send(post("first") + post("second") + post("third")));
  for (const char* expected : {"first", "second", "third"}) {
    const auto answer = client.receive();
    REQUIRE(answer);
    CHECK(answer->body == expected);
  }
}

TEST_CASE("server: a pipeline split at every byte is understood", "[http]") {
  TestServer test;
  TlsClient client = test.connect();
  const std::string both = post("one") + post("two");
  for (const char byte : both) {
    REQUIRE(client.send(std::string_view(&byte, 1)));
  }
  CHECK(client.receive().value().body == "one");
  CHECK(client.receive().value().body == "two");
}

TEST_CASE("server: a chunked body is put together", "[http]") {
  TestServer test;
  TlsClient client = test.connect();
  const std::string chunked =
      request("POST /mutate HTTP/1.1", kJson + "Transfer-Encoding: chunked\r\n",
              "4\r\nab\r\n\r\n3;x=y\r\ncde\r\n0\r\n\r\n");
  REQUIRE(client.send(chunked + post("next")));
  CHECK(client.receive().value().body == "ab\r\ncde");
  CHECK(client.receive().value().body == "next");
}

TEST_CASE("server: a malformed chunk is a bad request and ends the connection", "[http]") {
  TestServer test;
  const auto body = GENERATE(as<std::string>(), "2\r\nabXX\r\n0\r\n\r\n", "zz\r\nab\r\n0\r\n\r\n");
  TlsClient client = test.connect();
  const auto answer =
      client.ask(request("POST /mutate HTTP/1.1", kJson + "Transfer-Encoding: chunked\r\n", body));
  REQUIRE(answer);
  CHECK(answer->status == 400);
  CHECK(client.wait_for_close());
}

TEST_CASE("server: the body is asked for with 100 Continue", "[http]") {
  TestServer test;
  TlsClient client = test.connect();
  const std::string whole = post("hello", "Expect: 100-continue\r\n");
  REQUIRE(client.send(whole.substr(0, whole.size() - 5)));
  REQUIRE(client.receive().value().status == 100);
  const auto answer = client.ask("hello");
  REQUIRE(answer);
  CHECK(answer->status == 200);
  CHECK(answer->body == "hello");
}

TEST_CASE("server: a refused request is not asked for its body", "[http]") {
  TestServer test;
  TlsClient client = test.connect();
  const auto answer = client.ask(request(
      "POST /mutate HTTP/1.1", kJson + "Content-Length: 99999999\r\nExpect: 100-continue\r\n"));
  REQUIRE(answer);
  CHECK(answer->status == 413);
}

struct Refusal {
  std::string request;
  int status;
};

TEST_CASE("server: what cannot be served is refused with its status", "[http]") {
  const auto refusal = GENERATE(values<Refusal>({
      {request("GET /mutate HTTP/1.1"), 405},
      {request("OPTIONS /mutate HTTP/1.1"), 405},
      {request("TRACE /mutate HTTP/1.1"), 405},
      {request("DELETE /mutate HTTP/1.1"), 405},
      {request("PUT /mutate HTTP/1.1", kJson + "Content-Length: 2\r\n", "{}"), 405},
      {request("POST /other HTTP/1.1", kJson + "Content-Length: 2\r\n", "{}"), 404},
      {request("POST /mutate/ HTTP/1.1", kJson + "Content-Length: 2\r\n", "{}"), 404},
      {request("GET / HTTP/1.1"), 404},
      {request("POST /mutate HTTP/1.1", "Content-Length: 2\r\n", "{}"), 415},
      {request("POST /mutate HTTP/1.1", "Content-Type: text/plain\r\nContent-Length: 2\r\n", "{}"),
       415},
      {request("POST /mutate HTTP/1.1", kJson + "Content-Encoding: gzip\r\nContent-Length: 2\r\n",
               "{}"),
       415},
      {request("POST /mutate HTTP/1.1", kJson), 411},
      {request("POST /mutate HTTP/1.1", kJson + "Content-Length: two\r\n", "{}"), 400},
      {request("POST /mutate HTTP/1.1", kJson + "Content-Length: -2\r\n", "{}"), 400},
      {request("POST /mutate HTTP/1.1", kJson + "Content-Length: 2\r\nContent-Length: 2\r\n", "{}"),
       400},
      {request("POST /mutate HTTP/1.1",
               kJson + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
       400},
      {request("POST /mutate HTTP/1.1", kJson + "Transfer-Encoding: gzip\r\n"), 501},
      {request("BREW /mutate HTTP/1.1"), 400},
      {request("POST /mutate HTTP/2.0"), 400},
      {request("POST /mutate"), 400},
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400},
      {std::string("\0\1\2\3\r\n\r\n", 8), 400},
      {request("POST /" + std::string(9000, 'a') + " HTTP/1.1"), 414},
      {request("POST /mutate HTTP/1.1", "X: " + std::string(9000, 'a') + "\r\n"), 400},
      {request("POST /mutate HTTP/1.1", kJson + "Content-Length: 99999999999999999999\r\n"), 400},
  }));
  TestServer test;
  TlsClient client = test.connect();
  CAPTURE(refusal.request.substr(0, 120));
  const auto answer = client.ask(refusal.request);
  REQUIRE(answer);
  CHECK(answer->status == refusal.status);
  CHECK_FALSE(answer->body.empty());
  CHECK(answer->header("connection") == "close");
  CHECK(client.wait_for_close());
}

TEST_CASE("server: a wrong method is told the right one", "[http]") {
  TestServer test;
  TlsClient client = test.connect();
  CHECK(client.ask(request("GET /mutate HTTP/1.1")).value().header("allow") == "POST");
}

TEST_CASE("server: HEAD gets a head and no body", "[http]") {
  TestServer test;
  TlsClient client = test.connect();
  REQUIRE(client.send(request("HEAD /mutate HTTP/1.1")));
  CHECK(client.receive(true).value().status == 405);
  CHECK(client.wait_for_close());
}

TEST_CASE("server: parameters and case of the media type do not matter", "[http]") {
  TestServer test;
  TlsClient client = test.connect();
  const auto answer = client.ask(
      request("POST /mutate HTTP/1.1",
              "content-type: Application/JSON ; charset=utf-8\r\nContent-Length: 2\r\n", "{}"));
  REQUIRE(answer);
  CHECK(answer->status == 200);
}

TEST_CASE("server: ranges and compression leave the answer alone", "[http]") {
  TestServer test;
  TlsClient client = test.connect();
  const std::string body(5000, 'x');
  const auto answer = client.ask(post(body, "Range: bytes=0-1\r\nAccept-Encoding: gzip, br\r\n"));
  REQUIRE(answer);
  CHECK(answer->status == 200);
  CHECK(answer->body == body);
  CHECK(answer->header("content-encoding").empty());
}

TEST_CASE("server: HTTP/1.0 is answered and closed, or kept on request", "[http]") {
  TestServer test;
  TlsClient client = test.connect();
  const std::string line = "POST /mutate HTTP/1.0";
  const auto kept =
      client.ask(request(line, kJson + "Connection: keep-alive\r\nContent-Length: 2\r\n", "{}"));
  REQUIRE(kept);
  CHECK(kept->header("connection") == "keep-alive");
  const auto closed = client.ask(request(line, kJson + "Content-Length: 2\r\n", "{}"));
  REQUIRE(closed);
  CHECK(closed->status == 200);
  CHECK(client.wait_for_close());
}

TEST_CASE("server: a client that asks to close is closed", "[http]") {
  TestServer test;
  TlsClient client = test.connect();
  const auto answer = client.ask(post("{}", "Connection: TE, Close\r\n"));
  REQUIRE(answer);
  CHECK(answer->header("connection") == "close");
  CHECK(client.wait_for_close());
}

TEST_CASE("server: empty lines before a request are skipped", "[http]") {
  TestServer test;
  TlsClient client = test.connect();
  CHECK(client.ask("\r\n\r\n" + post("{}")).value().status == 200);
}

TEST_CASE("server: a handler that throws is a 500 and a log line, and serving goes on", "[http]") {
  std::atomic<int> calls{0};
  TestServer test(quickly([&calls](std::string_view body) -> http::Reply {
    if (++calls == 1) {
      throw std::runtime_error("boom");
    }
    if (calls == 2) {
      throw 42;  // NOLINT(hicpp-exception-baseclass)
    }
    return {200, std::string(body)};
  }));
  TlsClient client = test.connect();
  CHECK(client.ask(post("{}")).value().status == 500);
  CHECK(client.ask(post("{}")).value().status == 500);
  CHECK(client.ask(post("{}")).value().status == 200);
  CHECK(test.log.count("boom") == 1);
}

TEST_CASE("server: a handler's own refusal keeps the connection", "[http]") {
  TestServer test(quickly([](std::string_view) { return http::Reply{400, "not a review"}; }));
  TlsClient client = test.connect();
  CHECK(client.ask(post("{}")).value().body == "not a review");
  CHECK(client.ask(post("{}")).value().status == 400);
}

TEST_CASE("server: a large answer arrives whole", "[http]") {
  const std::string large(3'000'000, 'y');
  TestServer test(quickly([&large](std::string_view) { return http::Reply{200, large}; }));
  TlsClient client = test.connect();
  CHECK((client.ask(post("{}")).value().body == large));
  CHECK((client.ask(post("{}")).value().body == large));
}

}  // namespace
}  // namespace injector::tests
