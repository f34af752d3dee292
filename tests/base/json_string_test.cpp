#include "base/json_string.h"

#include <string>

#include <catch2/catch.hpp>

#include "base/json_text.h"

namespace injector::base {
namespace {

TEST_CASE("json: a string that is appended is the one a document writes", "[codec]") {
  std::string every;
  for (char c = 0; c < 0x7f; ++c) {
    every += c;
  }
  for (const std::string& text :
       {std::string(), every, std::string("plain"), std::string("\x7f"), std::string("a\"b\\c\n"),
        std::string("gr\u00fc\u00df \"\U0001f600\" x"), std::string("a\xff z")}) {
    std::string out = "before ";
    append_json_string(out, text);
    CHECK(out == "before " + write_json(Json(text)));
  }
}

}  // namespace
}  // namespace injector::base
