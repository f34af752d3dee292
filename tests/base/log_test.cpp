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

TEST_CASE("log: what would steer a terminal or reorder text is escaped", "[base]") {
  const auto format = GENERATE(LogFormat::Text, LogFormat::Json);
  std::string line;
  const Logger log(format, LogLevel::Info, [&](std::string_view text) { line = text; });

  log.info("odd", {{"a", "x\x7f"}, {"b", "\u009b31m"}, {"c", "\u202etxt"}});

  CHECK_THAT(line, Catch::Contains(R"("x\u007f")"));
  CHECK_THAT(line, Catch::Contains(R"("\u009b31m")"));
  CHECK_THAT(line, Catch::Contains(R"("\u202etxt")"));
}

TEST_CASE("log: a field is bounded, whoever forgot to bound it", "[base]") {
  const auto format = GENERATE(LogFormat::Text, LogFormat::Json);
  std::string line;
  const Logger log(format, LogLevel::Info, [&](std::string_view text) { line = text; });

  log.info("long", {{"value", std::string(2'600'000, 'a')}, {"next", 1}});

  CHECK(line.size() < 5000);
  CHECK_THAT(line, Catch::Contains("a…") && Catch::Contains("next"));
}

}  // namespace
}  // namespace injector::base
