#include "base/printable.h"

#include <string>

#include <catch2/catch.hpp>

#include "base/json.h"

namespace injector::base {
namespace {

TEST_CASE("printable: an echo is a hundred characters, an ellipsis and the length", "[base]") {
  CHECK(echoed("ture") == "ture");
  CHECK(echoed(std::string(100, 'a')) == std::string(100, 'a'));
  CHECK(echoed(std::string(2'600'000, 'a')) == std::string(100, 'a') + "… (2600000 characters)");
}

TEST_CASE("printable: an echo is cut between characters, never within one", "[base]") {
  std::string snails;
  std::string hundred;
  for (int count = 0; count < 150; ++count) {
    snails += "🐌";
    hundred += count < 100 ? "🐌" : "";
  }
  CHECK(echoed(hundred) == hundred);
  CHECK(echoed(snails) == hundred + "… (150 characters)");
  CHECK_THAT(echoed(std::string(150, '\x80')), Catch::EndsWith("\\x80… (101 characters)"));
}

TEST_CASE("printable: controls, bidirectional ones too, are escaped in an echo", "[base]") {
  CHECK(echoed("a\nb\x1b[2J\x7f") == "a\\nb\\u001b[2J\\u007f");
  CHECK(echoed("\u009b31m") == "\\u009b31m");
  CHECK(echoed("a\u202etxt.exe\u2066\u200f\u2028") == "a\\u202etxt.exe\\u2066\\u200f\\u2028");
  CHECK(echoed("\x9b\xff\xc0\x80") == "\\x9b\\xff\\xc0\\x80");
  CHECK(echoed("größe 大きさ 🐌") == "größe 大きさ 🐌");
}

TEST_CASE("printable: a message keeps its lines, and nothing else of the kind", "[base]") {
  CHECK(printable("one\n\ttwo\r\x1b[31m") == "one\n\ttwo\\r\\u001b[31m");
}

TEST_CASE("printable: escaped JSON text means the same JSON", "[base]") {
  const Json value = {{"k", "a\u202e\u0085\x7f\n"}};
  const std::string text = escape_json_text(value.dump());
  CHECK(text == R"({"k":"a\u202e\u0085\u007f\n"})");
  CHECK(Json::parse(text) == value);
}

TEST_CASE("printable: shortened text has at most that many bytes, in whole characters", "[base]") {
  CHECK(shortened("short", 5) == "short");
  CHECK(shortened("abcdefgh", 7) == "abcd…");
  CHECK(shortened("äöüäöü", 8) == "äö…");
  CHECK(shortened("äöüäöü", 9) == "äöü…");
}

}  // namespace
}  // namespace injector::base
