#include "base/sleep.h"

#include <thread>

#include <catch2/catch.hpp>

namespace injector::base {
namespace {

TEST_CASE("sleep: takes its time unless it is stopped", "[base]") {
  std::stop_source source;
  const TimePoint start = std::chrono::steady_clock::now();
  CHECK(sleep_for(Duration{5}, source.get_token()));
  CHECK(std::chrono::steady_clock::now() - start >= Duration{5});
  const std::jthread stopper([&source] { source.request_stop(); });
  CHECK_FALSE(sleep_for(std::chrono::hours{1}, source.get_token()));
  CHECK_FALSE(sleep_until(TimePoint::max(), source.get_token()));
}

}  // namespace
}  // namespace injector::base
