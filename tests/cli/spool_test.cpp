#include "cli/spool.h"

#include <sstream>
#include <string>

#include <catch2/catch.hpp>

namespace injector::cli {
namespace {

TEST_CASE("spool: writes nothing until it is flushed, and then everything in order", "[cli]") {
  std::ostringstream out;
  Spool spool;
  std::string all;
  for (int i = 0; i < 40; ++i) {
    const std::string block(100'000, static_cast<char>('a' + i % 26));  // Beyond kInMemory in all.
    spool.write(block);
    all += block;
  }
  spool.write("end");
  CHECK(out.str().empty());
  REQUIRE(spool.flush_to(out).has_value());
  CHECK(out.str() == all + "end");
}

TEST_CASE("spool: what fits into memory, and nothing at all", "[cli]") {
  std::ostringstream out;
  Spool spool;
  REQUIRE(spool.flush_to(out).has_value());
  CHECK(out.str().empty());
  spool.write("a");
  spool.write("b");
  REQUIRE(spool.flush_to(out).has_value());
  REQUIRE(spool.flush_to(out).has_value());
  CHECK(out.str() == "ab");
}

TEST_CASE("spool: an output that cannot be written is a failure", "[cli]") {
  std::ostringstream out;
  out.setstate(std::ios::badbit);
  Spool spool;
  spool.write("a");
  CHECK_FALSE(spool.flush_to(out).has_value());
}

}  // namespace
}  // namespace injector::cli
