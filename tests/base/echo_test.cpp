#include "base/echo.h"

#include <string>

#include <catch2/catch.hpp>

#include "base/printable.h"

namespace injector::base {
namespace {

TEST_CASE("echo: is what echoed() gives, without a copy of what needs no change", "[base]") {
  for (const std::string& value :
       {std::string(), std::string("shop-frontend"), std::string(100, 'a'), std::string(101, 'a'),
        std::string("a\nb"), std::string("\u202e"), std::string("gr\u00fcn"),
        std::string("\xff")}) {
    CHECK(Echo(value).text() == echoed(value));
  }
  const std::string plain = "shop-frontend-7d4b9c6f5-";
  CHECK(Echo(plain).text().data() == plain.data());
}

}  // namespace
}  // namespace injector::base
