#include "http/response_parser.h"

#include <algorithm>
#include <array>
#include <string>

#include <catch2/catch.hpp>

namespace injector::http {
namespace {

struct Answer {
  int code = 0;
  std::string body;
  bool reusable = false;
};

/// A response that arrives `piece` bytes at a time, and then the end of the stream.
base::Result<Answer> read_answer(std::string_view text, std::size_t piece) {
  ResponseParser parser;
  while (!text.empty() && !parser.complete()) {
    INJ_TRY(parser.take(text.substr(0, piece)));
    text.remove_prefix(std::min(piece, text.size()));
  }
  if (!parser.complete()) {
    INJ_TRY(parser.end());
  }
  return Answer{parser.head().code, parser.content(), parser.reusable()};
}

base::ErrorCode failure(const std::string& text) {
  const auto answer = read_answer(text, 5);
  REQUIRE_FALSE(answer.has_value());
  return answer.error().code;
}

constexpr const char* kChunkedHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

}  // namespace

TEST_CASE("response parser: every framing is read whole however the bytes arrive", "[http]") {
  struct Case {
    std::string text;
    std::string body;
    bool reusable;
  };

  const std::array<Case, 6> cases{{
      {"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello world", "hello world", true},
      {std::string(kChunkedHead) + "5\r\nhello\r\n6;name=\"v\"\r\n world\r\n0\r\n\r\n",
       "hello world", true},
      {std::string(kChunkedHead) + "B\r\nhello world\r\n000;x\r\nTrailer: yes\r\nMore: 1\r\n\r\n",
       "hello world", true},
      {"HTTP/1.0 200 OK\r\n\r\nhello world", "hello world", false},
      {"HTTP/1.1 200\r\nContent-Length: 2\r\nConnection: Keep-Alive, Close\r\n\r\nok", "ok", false},
      {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 Gone\r\n\r\n", "", true},
  }};
  for (const Case& expected : cases) {
    for (const std::size_t piece : {1U, 2U, 3U, 1000U}) {
      CAPTURE(expected.text, piece);
      const auto answer = read_answer(expected.text, piece);
      REQUIRE(answer.has_value());
      CHECK(answer.value().body == expected.body);
      CHECK(answer.value().reusable == expected.reusable);
    }
  }
}

TEST_CASE("response parser: a body cut short is told from a complete one", "[http]") {
  CHECK(failure("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello") ==
        base::ErrorCode::Unavailable);
  CHECK(failure(std::string(kChunkedHead) + "5\r\nhel") == base::ErrorCode::Unavailable);
  CHECK(failure(std::string(kChunkedHead) + "5\r\nhello\r\n") == base::ErrorCode::Unavailable);
  CHECK(failure(std::string(kChunkedHead) + "5\r\nhello\r\n0\r\n") == base::ErrorCode::Unavailable);
  CHECK(failure("HTTP/1.1 200 O") == base::ErrorCode::Unavailable);
  CHECK(failure("") == base::ErrorCode::Unavailable);
}

TEST_CASE("response parser: what is not HTTP is refused", "[http]") {
  for (const std::string text :
       {"SSH-2.0-OpenSSH\r\n\r\n", "HTTP/2 200 OK\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n", "HTTP/1.1 -20 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "HTTP/1.1 200 OK\r\n folded: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\n: x\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n0\r\n\r\n",
        "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\nContent-Length: 0\n\n", "HTTP/1.1 101 Switching Protocols\r\n\r\n"}) {
    CAPTURE(text);
    CHECK(failure(text) == base::ErrorCode::Internal);
  }
  for (const std::string chunk : {"\r\n", "x\r\n", "-1\r\n", "10000000000000000\r\n",
                                  "2\r\nabc\r\n0\r\n\r\n", "0x2\r\nab\r\n"}) {
    CAPTURE(chunk);
    CHECK(failure(kChunkedHead + chunk) == base::ErrorCode::Internal);
  }
}

TEST_CASE("response parser: head, chunk lines and trailers have limits", "[http]") {
  const std::string huge(kMaxResponseHead + 1, 'a');
  CHECK(failure("HTTP/1.1 200 OK\r\nX: " + huge + "\r\n\r\n") == base::ErrorCode::Internal);
  CHECK(failure("HTTP/1.1 200 OK\r\nX: " + huge) == base::ErrorCode::Internal);
  std::string many = "HTTP/1.1 200 OK\r\n";
  while (many.size() < 2 * kMaxResponseHead) {
    many += "Header: value\r\n";
  }
  CHECK(failure(many + "\r\n") == base::ErrorCode::Internal);
  CHECK(failure(std::string(kChunkedHead) + "1;" + huge + "\r\n") == base::ErrorCode::Internal);
  CHECK(failure(std::string(kChunkedHead) + "0\r\nT: " + huge + "\r\n\r\n") ==
        base::ErrorCode::Internal);
  std::string interim;
  for (int i = 0; i < 100; ++i) {
    interim += "HTTP/1.1 102 Processing\r\n\r\n";
  }
  CHECK(failure(interim) == base::ErrorCode::Internal);
}

TEST_CASE("response parser: bytes after the answer forbid another request", "[http]") {
  const auto answer =
      read_answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200", 1000);
  REQUIRE(answer.has_value());
  CHECK(answer.value().body == "ok");
  CHECK_FALSE(answer.value().reusable);
}

TEST_CASE("response parser: the answer to CONNECT ends with its head", "[http]") {
  ResponseParser parser(ResponseParser::Answers::Connect);
  REQUIRE(parser.take("HTTP/1.1 200 Connection established\r\n\r\n").has_value());
  CHECK(parser.complete());
  CHECK(parser.head().reason == "Connection established");
}

TEST_CASE("response parser: headers are found whatever their case", "[http]") {
  ResponseParser parser;
  REQUIRE(parser.take("HTTP/1.1 429 Slow\r\nretry-AFTER:  7 \r\nX: y\r\n\r\n").has_value());
  CHECK(parser.head().header("Retry-After") == "7");
  CHECK(parser.head().header("Retry").empty());
}

TEST_CASE("response parser: a stream without an end may go on for ever", "[http]") {
  ResponseParser parser;
  REQUIRE(parser.take(kChunkedHead).has_value());
  const std::string event(100, 'e');
  for (int i = 0; i < 100'000; ++i) {  // Some 600 KB of chunk sizes.
    REQUIRE(parser.take("64\r\n" + event + "\r\n").has_value());
    REQUIRE(parser.content() == event);
    parser.content().clear();
  }
}

}  // namespace injector::http
