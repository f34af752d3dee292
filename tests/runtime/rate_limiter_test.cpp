#include "runtime/rate_limiter.h"

#include <chrono>
#include <string>

#include <catch2/catch.hpp>

#include "runtime/backoff.h"
#include "tests/runtime/fakes.h"

namespace injector::runtime {
namespace {

using namespace std::chrono_literals;
using base::Duration;
using fakes::ManualClock;

TEST_CASE("item backoff: doubles from 5 ms and stays at 1000 s", "[runtime]") {
  ItemBackoff<std::string> backoff;
  Duration expected = 5ms;
  for (int failures = 0; failures < 200; ++failures) {
    REQUIRE(backoff.next("a") == expected);
    expected = std::min<Duration>(expected * 2, 1000s);
  }
  REQUIRE(backoff.next("another") == 5ms);
  REQUIRE(backoff.failures("a") == 200);
}

TEST_CASE("token bucket: holds the burst, then fills at its rate", "[runtime]") {
  ManualClock clock;
  TokenBucket bucket(10, 100);
  for (int count = 0; count < 100; ++count) {
    REQUIRE(bucket.try_take(clock.now()));
  }
  REQUIRE_FALSE(bucket.try_take(clock.now()));
  clock.advance(100ms);
  REQUIRE(bucket.try_take(clock.now()));
  REQUIRE_FALSE(bucket.try_take(clock.now()));
}

TEST_CASE("token bucket: does not gather more than the burst", "[runtime]") {
  ManualClock clock;
  TokenBucket bucket(10, 2);
  clock.advance(24h);
  REQUIRE(bucket.try_take(clock.now()));
  REQUIRE(bucket.try_take(clock.now()));
  REQUIRE_FALSE(bucket.try_take(clock.now()));
}

TEST_CASE("token bucket: a reservation says when its token comes", "[runtime]") {
  const ManualClock clock;
  TokenBucket bucket(10, 1);
  REQUIRE(bucket.reserve(clock.now()) == 0ms);
  REQUIRE(bucket.reserve(clock.now()) == 100ms);
  REQUIRE(bucket.reserve(clock.now()) == 200ms);
}

TEST_CASE("token bucket: time that goes back gives nothing", "[runtime]") {
  ManualClock clock;
  TokenBucket bucket(1, 1);
  clock.advance(10s);
  const base::TimePoint late = clock.now();
  REQUIRE(bucket.try_take(late));
  REQUIRE_FALSE(bucket.try_take(late - 5s));
  REQUIRE_FALSE(bucket.try_take(late));
}

TEST_CASE("rate limiter: the longer of item delay and bucket counts", "[runtime]") {
  const ManualClock clock;
  RateLimiter<int> limiter;
  for (int key = 0; key < 100; ++key) {
    REQUIRE(limiter.delay(key, clock.now()) == 5ms);  // The bucket has a burst of 100.
  }
  REQUIRE(limiter.delay(100, clock.now()) == 100ms);
  REQUIRE(limiter.delay(101, clock.now()) == 200ms);
  REQUIRE(limiter.retries(101) == 1);
}

TEST_CASE("backoff: grows by two to the cap, each stretched by less than two", "[runtime]") {
  ManualClock clock;
  BackoffPolicy policy;
  policy.reset_after = 24h;
  Backoff backoff(policy, 7);
  for (const Duration base : {800ms, 1600ms, 3200ms, 6400ms, 12800ms, 25600ms, 30000ms, 30000ms}) {
    const Duration delay = backoff.next(clock.now());
    REQUIRE(delay >= base);
    REQUIRE(delay < base * 2);
  }
}

TEST_CASE("backoff: starts small again two minutes after the last reset", "[runtime]") {
  ManualClock clock;
  Backoff backoff(BackoffPolicy{}, 7);
  for (int count = 0; count < 6; ++count) {
    static_cast<void>(backoff.next(clock.now()));
  }
  clock.advance(119s);
  REQUIRE(backoff.next(clock.now()) >= 30s);
  clock.advance(1s);
  REQUIRE(backoff.next(clock.now()) < 1600ms);
}

TEST_CASE("backoff: equal seeds give equal delays, others do not", "[runtime]") {
  const ManualClock clock;
  Backoff one(BackoffPolicy{}, 1);
  Backoff same(BackoffPolicy{}, 1);
  Backoff other(BackoffPolicy{}, 2);
  const Duration delay = one.next(clock.now());
  REQUIRE(delay == same.next(clock.now()));
  REQUIRE(delay != other.next(clock.now()));
}

}  // namespace
}  // namespace injector::runtime
