#include "kube/http_response.h"

#include <algorithm>
#include <array>
#include <string>

#include <catch2/catch.hpp>

namespace injector::kube {
namespace {

/// Text that arrives `piece` bytes at a time.
class TextSource final : public ByteSource {
 public:
  TextSource(std::string text, std::size_t piece)
      : text_(std::move(text)),
        piece_(piece) {}

  base::Result<std::size_t> read(std::span<char> into, const Until& /*until*/) override {
    const std::size_t count = std::min({into.size(), piece_, text_.size() - at_});
    std::copy_n(text_.begin() + static_cast<std::ptrdiff_t>(at_), count, into.begin());
    at_ += count;
    return count;
  }

 private:
  const std::string text_;
  const std::size_t piece_;
  std::size_t at_ = 0;
};

base::Result<std::string> read_all(ResponseReader& reader) {
  std::string body;
  std::array<char, 7> block{};
  for (;;) {
    const auto got = reader.read_body(block, {});
    if (!got) {
      return got.error();
    }
    if (got.value() == 0) {
      return body;
    }
    body.append(block.data(), got.value());
  }
}

struct Answer {
  int code = 0;
  std::string body;
  bool reusable = false;
};

/// Head and body in one; an Error from either.
base::Result<Answer> read_answer(const std::string& text, std::size_t piece) {
  TextSource source(text, piece);
  ResponseReader reader(source);
  const auto head = reader.read_head({});
  if (!head) {
    return head.error();
  }
  const auto body = read_all(reader);
  if (!body) {
    return body.error();
  }
  return Answer{head.value().code, body.value(), reader.reusable()};
}

base::ErrorCode failure(const std::string& text) {
  const auto answer = read_answer(text, 5);
  REQUIRE_FALSE(answer.has_value());
  return answer.error().code;
}

constexpr const char* kChunkedHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

}  // namespace

TEST_CASE("http response: every framing is read whole however the bytes arrive", "[kube]") {
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
      {"HTTP/1.1 200\nContent-Length: 2\nConnection: Keep-Alive, Close\n\nok", "ok", false},
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

TEST_CASE("http response: a body cut short is told from a complete one", "[kube]") {
  CHECK(failure("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello") ==
        base::ErrorCode::Unavailable);
  CHECK(failure(std::string(kChunkedHead) + "5\r\nhel") == base::ErrorCode::Unavailable);
  CHECK(failure(std::string(kChunkedHead) + "5\r\nhello\r\n") == base::ErrorCode::Unavailable);
  CHECK(failure(std::string(kChunkedHead) + "5\r\nhello\r\n0\r\n") == base::ErrorCode::Unavailable);
  CHECK(failure("HTTP/1.1 200 O") == base::ErrorCode::Unavailable);
  CHECK(failure("") == base::ErrorCode::Unavailable);
}

TEST_CASE("http response: what is not HTTP is refused", "[kube]") {
  for (const std::string text :
       {"SSH-2.0-OpenSSH\r\n\r\n", "HTTP/2 200 OK\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n", "HTTP/1.1 -20 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "HTTP/1.1 200 OK\r\n folded: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\n: x\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\n\r\n"}) {
    CAPTURE(text);
    CHECK(failure(text) == base::ErrorCode::Internal);
  }
  for (const std::string chunk : {"\r\n", "x\r\n", "-1\r\n", "10000000000000000\r\n",
                                  "2\r\nabc\r\n0\r\n\r\n", "0x2\r\nab\r\n"}) {
    CAPTURE(chunk);
    CHECK(failure(kChunkedHead + chunk) == base::ErrorCode::Internal);
  }
}

TEST_CASE("http response: head, chunk lines and trailers have limits", "[kube]") {
  const std::string huge(kMaxHead + 1, 'a');
  CHECK(failure("HTTP/1.1 200 OK\r\nX: " + huge + "\r\n\r\n") == base::ErrorCode::Internal);
  CHECK(failure("HTTP/1.1 200 OK\r\nX: " + huge) == base::ErrorCode::Internal);
  std::string many = "HTTP/1.1 200 OK\r\n";
  while (many.size() < 2 * kMaxHead) {
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

TEST_CASE("http response: bytes after the answer forbid another request", "[kube]") {
  const auto answer =
      read_answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200", 1000);
  REQUIRE(answer.has_value());
  CHECK(answer.value().body == "ok");
  CHECK_FALSE(answer.value().reusable);
}

}  // namespace injector::kube
