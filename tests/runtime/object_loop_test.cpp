#include "runtime/object_loop.h"

#include <algorithm>
#include <atomic>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/runtime/fake_api_server.h"
#include "tests/runtime/fakes.h"

namespace injector::runtime {
namespace {

using Strings = std::vector<std::string>;

// A loop in front of a server in memory, with a reconcile function that writes down what it sees.
struct Bench {
  explicit Bench(Sleeper& sleeper, base::Duration resync = base::Duration(0))
      : loop(
            server, LoopOptions{.name = "pods", .kind = "Pod", .resync = resync},
            [this](const std::string& key, const ObjectPtr& object, const std::stop_token&) {
              see(key + (object == nullptr ? " gone" : "@" + object->resource_version));
              return Outcome::done();
            },
            LoopContext{clock, sleeper, base::Logger::silent(), 1}) {}

  void start() {
    thread = std::jthread([this](const std::stop_token& stop) { loop.run(stop); });
  }

  void see(std::string what) {
    witness.change([&] { seen.push_back(std::move(what)); });
  }

  [[nodiscard]] bool wait_for(const std::string& what) {
    return witness.eventually([&] { return count(what) > 0; });
  }

  // Under the witness, or when the loop has ended.
  [[nodiscard]] std::ptrdiff_t count(const std::string& what) const {
    return std::count(seen.begin(), seen.end(), what);
  }

  void finish() {
    thread.request_stop();
    thread.join();
  }

  fakes::ManualClock clock;
  fakes::FakeApiServer server;
  fakes::Witness witness;
  Strings seen;
  ObjectLoop loop;
  std::jthread thread;
};

TEST_CASE("object loop: reconciles what is there, what changes and what goes",
          "[runtime][threads]") {
  fakes::GateSleeper sleeper;
  Bench bench(sleeper);
  bench.server.create("a");
  bench.start();
  REQUIRE(bench.wait_for("ns/a@1"));
  bench.server.update("a");
  REQUIRE(bench.wait_for("ns/a@2"));
  bench.server.remove("a");
  REQUIRE(bench.wait_for("ns/a gone"));
  bench.finish();
  REQUIRE(bench.seen == Strings{"ns/a@1", "ns/a@2", "ns/a gone"});
}

TEST_CASE("object loop: the same version in a new list is no change", "[runtime][threads]") {
  fakes::ManualClock clock;
  fakes::InstantSleeper sleeper(clock);
  Bench bench(sleeper);
  bench.server.create("a");
  bench.start();
  REQUIRE(bench.wait_for("ns/a@1"));
  bench.server.lose_next_event();
  bench.server.create("b");
  bench.server.compact();  // Only a new list can tell of b.
  REQUIRE(bench.wait_for("ns/b@2"));
  bench.server.create("c");  // Whatever the new list told is handled before this.
  REQUIRE(bench.wait_for("ns/c@3"));
  bench.finish();
  REQUIRE(bench.count("ns/a@1") == 1);
}

TEST_CASE("object loop: a resync reconciles every object once more", "[runtime][threads]") {
  fakes::GateSleeper sleeper;
  Bench bench(sleeper, base::Duration(30'000));
  bench.server.create("a");
  bench.server.create("b");
  bench.start();
  REQUIRE(bench.wait_for("ns/a@1"));
  REQUIRE(bench.wait_for("ns/b@2"));
  REQUIRE(sleeper.wake_one() == base::Duration(30'000));
  REQUIRE(bench.witness.eventually([&] { return bench.seen.size() == 4; }));
  bench.finish();
  REQUIRE(bench.count("ns/a@1") == 2);
  REQUIRE(bench.count("ns/b@2") == 2);
}

TEST_CASE("object loop: enqueue all reconciles every object once more", "[runtime][threads]") {
  fakes::GateSleeper sleeper;
  Bench bench(sleeper);
  bench.server.create("a");
  bench.start();
  REQUIRE(bench.wait_for("ns/a@1"));
  bench.loop.enqueue_all();
  REQUIRE(bench.witness.eventually([&] { return bench.count("ns/a@1") == 2; }));
}

TEST_CASE("object loop: nothing is taken for gone before the first list is complete",
          "[runtime][threads]") {
  fakes::ManualClock clock;
  fakes::InstantSleeper sleeper(clock);
  std::atomic<int> failed_lists = 0;
  sleeper.on_sleep = [&] {
    ++failed_lists;
    failed_lists.notify_all();
  };
  Bench bench(sleeper);
  bench.server.create("a");
  bench.server.go_down();
  bench.loop.enqueue("ns/a");
  bench.loop.enqueue("ns/left-behind");
  bench.start();
  for (int failures = 0; failures < 100; failures = failed_lists) {
    failed_lists.wait(failures);
  }
  bench.server.come_up();
  REQUIRE(bench.wait_for("ns/a@1"));
  REQUIRE(bench.wait_for("ns/left-behind gone"));
  bench.finish();
  REQUIRE(bench.count("ns/a gone") == 0);
}

TEST_CASE("object loop: one pass reconciles everything that is there, and ends",
          "[runtime][threads]") {
  fakes::GateSleeper sleeper;
  Bench bench(sleeper);
  bench.server.create("a");
  bench.server.create("b");
  REQUIRE(bench.loop.run_once({}) == 0);
  std::sort(bench.seen.begin(), bench.seen.end());
  REQUIRE(bench.seen == Strings{"ns/a@1", "ns/b@2"});
}

TEST_CASE("object loop: one pass tries again, and counts what came to no good end",
          "[runtime][threads]") {
  fakes::ManualClock clock;
  fakes::InstantSleeper sleeper(clock);
  fakes::FakeApiServer server;
  std::atomic<int> stubborn = 0;
  std::atomic<int> slow = 0;
  ObjectLoop loop(
      server, LoopOptions{.name = "pods", .kind = "Pod"},
      [&](const std::string& key, const ObjectPtr&, const std::stop_token&) {
        if (key == "ns/hopeless") {
          return Outcome::give_up("no");
        }
        if (key == "ns/stubborn") {
          ++stubborn;
          return Outcome::retry("not yet");
        }
        return ++slow < 3 ? Outcome::retry("not yet") : Outcome::done();
      },
      LoopContext{clock, sleeper, base::Logger::silent(), 1});
  for (const char* name : {"hopeless", "stubborn", "slow"}) {
    server.create(name);
  }
  REQUIRE(loop.run_once({}) == 2);
  REQUIRE(slow == 3);
  REQUIRE(stubborn > 1);
}

TEST_CASE("object loop: a stop ends it also before the first list", "[runtime][threads]") {
  fakes::GateSleeper sleeper;
  Bench bench(sleeper);
  bench.server.go_down();
  bench.loop.enqueue("ns/a");
  bench.start();
  sleeper.wait_for_sleeper();  // The list has failed.
  bench.finish();
  REQUIRE(bench.seen.empty());
}

}  // namespace
}  // namespace injector::runtime
