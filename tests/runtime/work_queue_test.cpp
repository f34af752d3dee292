#include "runtime/work_queue.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <latch>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
#include <prometheus/text_serializer.h>

#include "runtime/rate_limited_queue.h"
#include "tests/runtime/fakes.h"
#include "tests/support/eventually.h"

namespace injector::runtime {
namespace {

using namespace std::chrono_literals;
using fakes::ManualClock;

std::vector<std::string> take_all(WorkQueue<std::string>& queue) {
  std::vector<std::string> keys;
  while (const auto lease = queue.try_take()) {
    keys.push_back(lease->key());
  }
  return keys;
}

TEST_CASE("work queue: keys leave in the order they were added", "[runtime]") {
  const ManualClock clock;
  WorkQueue<std::string> queue(clock);
  queue.add("b");
  queue.add("a");
  queue.add("c");
  REQUIRE(take_all(queue) == std::vector<std::string>{"b", "a", "c"});
}

TEST_CASE("work queue: a key added twice before it is taken is processed once", "[runtime]") {
  const ManualClock clock;
  WorkQueue<std::string> queue(clock);
  queue.add("ns/a");
  queue.add("ns/a");
  REQUIRE(take_all(queue) == std::vector<std::string>{"ns/a"});
}

TEST_CASE("work queue: a key added while leased comes back once, after release", "[runtime]") {
  const ManualClock clock;
  WorkQueue<std::string> queue(clock);
  queue.add("ns/a");
  {
    const auto held = queue.try_take();
    queue.add("ns/a");
    queue.add("ns/a");
    REQUIRE_FALSE(queue.try_take().has_value());
  }
  REQUIRE(take_all(queue) == std::vector<std::string>{"ns/a"});
}

TEST_CASE("work queue: a moved lease gives its key back once", "[runtime]") {
  const ManualClock clock;
  WorkQueue<std::string> queue(clock);
  queue.add("a");
  auto first = queue.try_take();
  {
    const auto second = *std::move(first);
    queue.add("a");
    first.reset();
    REQUIRE_FALSE(queue.try_take().has_value());
  }
  REQUIRE(queue.try_take().has_value());
}

TEST_CASE("work queue: add_after keeps the earlier of two delays", "[runtime]") {
  ManualClock clock;
  WorkQueue<std::string> queue(clock);
  queue.add_after("later first", 10s);
  queue.add_after("later first", 1s);
  queue.add_after("earlier first", 1s);
  queue.add_after("earlier first", 10s);

  clock.advance(999ms);
  REQUIRE(take_all(queue).empty());
  clock.advance(1ms);
  REQUIRE(take_all(queue) == std::vector<std::string>{"later first", "earlier first"});
  clock.advance(1min);
  REQUIRE(take_all(queue).empty());
}

TEST_CASE("work queue: delayed keys leave in the order of their times", "[runtime]") {
  ManualClock clock;
  WorkQueue<std::string> queue(clock);
  queue.add_after("third", 3s);
  queue.add_after("first", 1s);
  queue.add_after("second", 2s);
  clock.advance(5s);
  REQUIRE(take_all(queue) == std::vector<std::string>{"first", "second", "third"});
}

TEST_CASE("work queue: a delay of nothing is an add", "[runtime]") {
  const ManualClock clock;
  WorkQueue<std::string> queue(clock);
  queue.add_after("a", 0s);
  queue.add_after("b", -5s);
  REQUIRE(take_all(queue) == std::vector<std::string>{"a", "b"});
}

TEST_CASE("work queue: a key that becomes due while leased waits for its release", "[runtime]") {
  ManualClock clock;
  WorkQueue<std::string> queue(clock);
  queue.add("a");
  {
    const auto lease = queue.try_take();
    queue.add_after("a", 1s);
    clock.advance(2s);
    REQUIRE(queue.ready() == 0);
  }
  REQUIRE(queue.ready() == 1);
}

TEST_CASE("work queue: a stop beats a ready key", "[runtime]") {
  const ManualClock clock;
  WorkQueue<std::string> queue(clock);
  queue.add("a");
  std::stop_source stop;
  stop.request_stop();
  REQUIRE_FALSE(queue.take(stop.get_token()).has_value());
}

TEST_CASE("work queue: take returns empty once stop is requested", "[runtime][threads]") {
  const base::SteadyClock clock;
  WorkQueue<int> queue(clock);
  std::vector<int> seen;
  std::latch both_seen(2);
  {
    const std::jthread worker([&](const std::stop_token& stop) {
      while (const auto lease = queue.take(stop)) {
        seen.push_back(lease->key());
        both_seen.count_down();
      }
    });
    queue.add(1);
    queue.add_after(2, 5ms);
    both_seen.wait();
  }
  REQUIRE(seen == std::vector<int>{1, 2});
}

TEST_CASE("work queue: a delayed key is taken while another worker is busy", "[runtime][threads]") {
  // Both workers wait; the delay is announced, then one of them gets a long job. The other one
  // must notice the delayed key.
  const base::SteadyClock clock;
  WorkQueue<std::string> queue(clock);
  std::latch delayed_seen(1);
  const auto work = [&](const std::stop_token& stop) {
    while (const auto lease = queue.take(stop)) {
      if (lease->key() == "long") {
        delayed_seen.wait();
      } else {
        delayed_seen.count_down();
      }
    }
  };
  const std::array<std::jthread, 2> workers{std::jthread(work), std::jthread(work)};
  queue.add_after("delayed", 20ms);
  queue.add("long");
  delayed_seen.wait();
}

TEST_CASE("work queue: every key is processed and no key has two workers", "[runtime][threads]") {
  constexpr int kKeys = 50;
  constexpr int kProducers = 4;
  constexpr int kRounds = 500;
  const base::SteadyClock clock;
  WorkQueue<int> queue(clock);
  std::array<std::atomic<int>, kKeys> wanted{};  // The newest request for each key...
  std::array<std::atomic<int>, kKeys> done{};    // ...and the newest that a worker saw.
  std::array<std::atomic<int>, kKeys> busy{};
  std::atomic<bool> overlapped = false;
  const auto work = [&](const std::stop_token& stop) {
    while (const auto lease = queue.take(stop)) {
      const auto key = static_cast<std::size_t>(lease->key());
      overlapped = overlapped || busy[key].fetch_add(1) != 0;
      done[key] = wanted[key].load();
      busy[key].fetch_sub(1);
    }
  };
  const auto produce = [&](int producer) {
    for (int round = 0; round < kRounds; ++round) {
      const int key = (round * 7 + producer * 13) % kKeys;
      ++wanted[static_cast<std::size_t>(key)];
      if (round % 5 == 0) {
        queue.add_after(key, 1ms);
      }
      queue.add(key);
    }
  };
  std::vector<std::jthread> workers;
  for (int count = 0; count < 4; ++count) {
    workers.emplace_back(work);
  }
  {
    std::vector<std::jthread> producers;
    for (int producer = 0; producer < kProducers; ++producer) {
      producers.emplace_back(produce, producer);
    }
  }
  REQUIRE(tests::eventually([&] {
    return std::equal(done.begin(), done.end(), wanted.begin(),
                      [](const auto& seen, const auto& asked) { return seen == asked; });
  }));
  REQUIRE_FALSE(overlapped);
}

TEST_CASE("work queue: counts under client-go's metric names", "[runtime]") {
  ManualClock clock;
  prometheus::Registry registry;
  WorkQueue<std::string> queue(clock, QueueMetrics(registry, "pods"));
  queue.add("a");
  queue.add("a");
  queue.add("b");
  queue.add_after("c", 1h);
  clock.advance(2s);
  {
    const auto lease = queue.try_take();
    clock.advance(3s);
  }
  const std::string text = prometheus::TextSerializer().Serialize(registry.Collect());
  for (const char* line :
       {"workqueue_depth{name=\"pods\"} 1", "workqueue_adds_total{name=\"pods\"} 2",
        "workqueue_retries_total{name=\"pods\"} 1",
        "workqueue_queue_duration_seconds_sum{name=\"pods\"} 2",
        "workqueue_work_duration_seconds_sum{name=\"pods\"} 3",
        "workqueue_work_duration_seconds_count{name=\"pods\"} 1"}) {
    INFO(line << "\n" << text);
    CHECK(text.find(line) != std::string::npos);
  }
}

TEST_CASE("rate limited queue: a key's delay doubles until it is forgotten", "[runtime]") {
  ManualClock clock;
  RateLimitedQueue<std::string> queue(clock);
  for (const auto delay : {5ms, 10ms, 20ms}) {
    queue.add_rate_limited("a");
    clock.advance(delay - 1ms);
    REQUIRE_FALSE(queue.try_take().has_value());
    clock.advance(1ms);
    REQUIRE(queue.try_take().has_value());
  }
  REQUIRE(queue.retries("a") == 3);

  queue.forget("a");
  REQUIRE(queue.retries("a") == 0);
  queue.add_rate_limited("a");
  clock.advance(5ms);
  REQUIRE(queue.try_take().has_value());
}

}  // namespace
}  // namespace injector::runtime
