// Heads read strictly: what two readers could understand differently is refused.

#include "http/head.h"

#include <string>
#include <string_view>

#include <catch2/catch.hpp>

namespace injector::tests {
namespace {

using http::HeadScanner;
using http::RequestHead;

/// 0: accepted.
int status_of(const std::string& head) {
  RequestHead parsed;
  const auto refused = http::parse_head(head, parsed);
  return refused ? refused->status : 0;
}

std::string with(const std::string& lines) {
  return "POST /mutate HTTP/1.1\r\nHost: a\r\n" + lines + "\r\n";
}

TEST_CASE("head: an ordinary one is understood", "[http]") {
  const std::string text =
      "POST /mutate?timeout=10s HTTP/1.1\r\nHost: a\r\nContent-Type: application/json \r\n"
      "content-length:42\r\nConnection: keep-alive, TE\r\nExpect: 100-Continue\r\n\r\n";
  RequestHead head;
  REQUIRE_FALSE(http::parse_head(text, head));
  CHECK(head.method == "POST");
  CHECK(head.path == "/mutate");
  CHECK(head.query == "timeout=10s");
  CHECK(head.content_type == "application/json");
  CHECK(head.content_length == 42U);
  CHECK(head.keeps_alive);
  CHECK(head.expects_continue);
  CHECK(head.has_body());
}

TEST_CASE("head: a target with its origin is the path behind it", "[http]") {
  const std::string text = "GET http://host:80/readyz?verbose HTTP/1.1\r\n\r\n";
  RequestHead head;
  REQUIRE_FALSE(http::parse_head(text, head));
  CHECK(head.path == "/readyz");
  CHECK(head.query == "verbose");
}

TEST_CASE("head: lines that two readers could take differently are refused", "[http]") {
  const auto lines =
      GENERATE(as<std::string>(), "no colon\r\n", "Name : value\r\n", ": value\r\n",
               " folded: value\r\n", "X: a\r\n continued\r\n", "X: a\r\n\tcontinued\r\n",
               std::string("X: a\0b\r\n", 8), "X: a\rb\r\n", "X: a\x7f\r\n", "X: a\x01\r\n",
               "N\xc3\xa4me: v\r\n", "Na me: v\r\n", "Content-Length: 2\r\nContent-Length: 2\r\n",
               "Content-Length: 2, 2\r\n", "Content-Length: +2\r\n", "Content-Length: 0x2\r\n",
               "Content-Length:\r\n", "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
               "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n",
               "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
               "Transfer-Encoding:\r\n", "Host: b\r\n", "Content-Type: a\r\nContent-Type: b\r\n");
  CAPTURE(lines);
  CHECK(status_of(with(lines)) == 400);
}

TEST_CASE("head: odd but clear lines are accepted", "[http]") {
  const auto lines = GENERATE(as<std::string>(), "X:\r\n", "X: a:b\r\n", "X:\t a \t\r\n",
                              "X: \xc3\xa4\r\n", "Content-Length: 007\r\n",
                              "TRANSFER-ENCODING: Chunked\r\n", "x!#$%&'*+-.^_`|~: a\r\n");
  CAPTURE(lines);
  CHECK(status_of(with(lines)) == 0);
}

TEST_CASE("head: request lines that are none are refused", "[http]") {
  const auto line = GENERATE(
      as<std::string>(), "", "GET", "GET /", "GET  HTTP/1.1", "get / HTTP/1.1", "GET / HTTP/1.2",
      "GET / http/1.1", "GET /a b HTTP/1.1", "GET /\x01 HTTP/1.1", "GET /\xc3\xa4 HTTP/1.1",
      " GET / HTTP/1.1", "GET\t/ HTTP/1.1", "GET / HTTP/1.1 ", "GET / HTTP/1.1\r");
  CAPTURE(line);
  CHECK(status_of(line + "\r\nHost: a\r\n\r\n") == 400);
}

TEST_CASE("head: a transfer encoding in HTTP/1.0 is refused", "[http]") {
  CHECK(status_of("POST /mutate HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n") == 400);
}

TEST_CASE("head: its end is found however the bytes come", "[http]") {
  const std::string text = with("X: a\r\n");
  HeadScanner scanner;
  for (std::size_t size = 0; size < text.size(); ++size) {
    REQUIRE(scanner.scan(std::string_view(text).substr(0, size)) == HeadScanner::State::Partial);
  }
  CHECK(scanner.scan(text + "body\n") == HeadScanner::State::Complete);
  CHECK(scanner.size() == text.size());
}

TEST_CASE("head: a line feed without its carriage return is refused at once", "[http]") {
  CHECK(HeadScanner().scan("GET / HTTP/1.1\n") == HeadScanner::State::Malformed);
  CHECK(HeadScanner().scan("GET / HTTP/1.1\r\n\nHost") == HeadScanner::State::Malformed);
  CHECK(HeadScanner().scan("\n") == HeadScanner::State::Malformed);
}

}  // namespace
}  // namespace injector::tests
