#include "http/chunked.h"

#include <string>
#include <string_view>

#include <catch2/catch.hpp>

namespace injector::tests {
namespace {

using http::ChunkedDecoder;
using State = ChunkedDecoder::State;

constexpr std::size_t kMax = 1000;

State decode(std::string_view text, std::string& body) {
  ChunkedDecoder decoder(kMax);
  return decoder.take(text, body);
}

State decode(std::string_view text) {
  std::string body;
  return decode(text, body);
}

TEST_CASE("chunked: content is put together and what follows is left", "[http]") {
  std::string_view text = "3\r\nabc\r\nA;name=value\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\nnext";
  std::string body;
  ChunkedDecoder decoder(kMax);
  CHECK(decoder.take(text, body) == State::Complete);
  CHECK(body == "abc0123456789");
  CHECK(text == "next");
}

TEST_CASE("chunked: content is put together byte by byte", "[http]") {
  const std::string whole = "3\r\nabc\r\n2 ;x\r\n\r\n\r\n0\r\n\r\n";
  ChunkedDecoder decoder(kMax);
  std::string body;
  std::string kept;
  State state = State::Partial;
  for (const char byte : whole) {
    REQUIRE(state == State::Partial);
    kept += byte;
    std::string_view text = kept;
    state = decoder.take(text, body);
    kept.erase(0, kept.size() - text.size());
  }
  CHECK(state == State::Complete);
  CHECK(body == "abc\r\n");
}

TEST_CASE("chunked: what is malformed is refused", "[http]") {
  const auto text = GENERATE(as<std::string>(), "\r\n", "x\r\n", "-1\r\n", "+1\r\n", "0x1\r\n",
                             " 1\r\na\r\n", "1\na\r\n", "1\r\na\n", "1\r\nab\r\n", "1 a\r\n",
                             "1;\x01\r\n", "1;a\rb\r\n", "0\r\nno colon\r\n\r\n",
                             "0\r\n folded: x\r\n\r\n", "0\r\nA: b\n\n", "1\r\na0\r\n\r\n");
  CAPTURE(text);
  CHECK(decode(text) == State::Malformed);
}

TEST_CASE("chunked: a body over the limit is refused before it is there", "[http]") {
  CHECK(decode("3e8\r\n") == State::Partial);
  CHECK(decode("3e9\r\n") == State::TooLarge);
  CHECK(decode("ffffffffffffffff\r\n") == State::TooLarge);
  CHECK(decode("fffffffffffffffff\r\n") == State::TooLarge);
  CHECK(decode("3e8\r\n" + std::string(kMax, 'a') + "\r\n1\r\n") == State::TooLarge);
}

TEST_CASE("chunked: endless framing is refused", "[http]") {
  CHECK(decode("1;" + std::string(70'000, 'a')) == State::TooLarge);
  std::string trailers = "0\r\n";
  for (int i = 0; i < 10'000; ++i) {
    trailers += "A: b\r\nC: d\r\n";
  }
  CHECK(decode(trailers) == State::TooLarge);
}

}  // namespace
}  // namespace injector::tests
