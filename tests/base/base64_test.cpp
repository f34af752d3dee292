#include "base/base64.h"

#include <string>

#include <catch2/catch.hpp>

namespace injector::base {
namespace {

TEST_CASE("base64: the test values of RFC 4648 both ways", "[base]") {
  const std::pair<const char*, const char*> values[] = {{"", ""},
                                                        {"f", "Zg=="},
                                                        {"fo", "Zm8="},
                                                        {"foo", "Zm9v"},
                                                        {"foob", "Zm9vYg=="},
                                                        {"fooba", "Zm9vYmE="},
                                                        {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : values) {
    REQUIRE(base64_encode(bytes) == text);
    REQUIRE(base64_decode(text) == bytes);
  }
}

TEST_CASE("base64: every byte survives", "[base]") {
  std::string bytes;
  for (int i = 0; i < 256; ++i) {
    bytes += static_cast<char>(i);
  }
  REQUIRE(base64_decode(base64_encode(bytes)) == bytes);
  std::string text = "before ";
  append_base64(text, bytes);
  REQUIRE(text == "before " + base64_encode(bytes));
}

TEST_CASE("base64: line breaks are skipped, anything else is no answer", "[base]") {
  REQUIRE(base64_decode("Zm9v\r\nYmFy\n") == "foobar");
  for (const char* bad : {"Zg=", "Z", "Zm 9", "Zg==Zg==", "Z===", "Zm9-"}) {
    REQUIRE_FALSE(base64_decode(bad).has_value());
  }
}

}  // namespace
}  // namespace injector::base
