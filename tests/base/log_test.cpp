#include "base/log.h"

#include <string>

#include <catch2/catch.hpp>

#include "base/json.h"

namespace injector::base {
namespace {

TEST_CASE("log: text has the message, then key=value, quoted where needed", "[base]") {
  std::string line;
  const Logger log(LogFormat::Text, LogLevel::Info, [&](std::string_view text) { line = text; });

  log.info("template loaded", {{"hash", "sha256:1"}, {"count", 2}, {"file", "a b"}, {"ok", true}});

  REQUIRE_THAT(
      line, Catch::EndsWith(R"(Z INFO template loaded hash=sha256:1 count=2 file="a b" ok=true)"));
}

TEST_CASE("log: a json line parses, whatever bytes the data has", "[base]") {
  std::string line;
  const Logger log(LogFormat::Json, LogLevel::Info, [&](std::string_view text) { line = text; });

  log.warn("odd", {{"bytes", std::string("a\n\"\xff")}, {"seconds", 0.25}});

  const Json parsed = Json::parse(line);
  REQUIRE(parsed.at("level") == "warn");
  REQUIRE(parsed.at("msg") == "odd");
  REQUIRE(parsed.at("bytes") == "a\n\"\xef\xbf\xbd");
  REQUIRE(parsed.at("seconds") == 0.25);
}

TEST_CASE("log: lines below the level are not written", "[base]") {
  int lines = 0;
  const Logger log(LogFormat::Text, LogLevel::Warn, [&](std::string_view) { ++lines; });
  log.info("quiet");
  log.error("loud");
  REQUIRE(lines == 1);
}

}  // namespace
}  // namespace injector::base
