#include "base/json_pointer.h"

#include <catch2/catch.hpp>

namespace injector::base {
namespace {

TEST_CASE("json pointer: what is escaped comes back", "[base]") {
  const std::string pointer = pointer_to(pointer_to("", "a/b"), "~1");
  CHECK(pointer == "/a~1b/~01");
  CHECK(parse_pointer(pointer).value() == std::vector<std::string>{"a/b", "~1"});
  CHECK(parse_pointer("").value().empty());
  CHECK(parse_pointer("/").value() == std::vector<std::string>{""});
}

TEST_CASE("json pointer: a pointer without its slash or with a bare tilde is an error", "[base]") {
  CHECK_FALSE(parse_pointer("a"));
  CHECK_FALSE(parse_pointer("/a~"));
  CHECK_FALSE(parse_pointer("/a~2"));
}

TEST_CASE("json pointer: an index is digits without a leading zero, within its limit", "[base]") {
  CHECK(parse_index("0", 0).value() == 0);
  CHECK(parse_index("12", 12).value() == 12);
  for (const char* wrong : {"", "-", "-1", "+1", "01", "1a", "13", "99999999999999999999"}) {
    INFO(wrong);
    CHECK_FALSE(parse_index(wrong, 12));
  }
}

}  // namespace
}  // namespace injector::base
