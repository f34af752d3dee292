#include "runtime/informer.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <semaphore>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/runtime/fake_api_server.h"
#include "tests/runtime/fakes.h"

namespace injector::runtime {
namespace {

using namespace std::chrono_literals;
using base::ErrorCode;
using fakes::FakeApiServer;
using fakes::Recorder;
using Strings = std::vector<std::string>;

// An informer on a thread of its own, in front of a server that holds still until told otherwise.
// Nothing waits: the clock jumps over every backoff. What handlers use is declared before it: they
// run until it is gone.
struct Bench {
  explicit Bench(InformerOptions options = {})
      : informer(server, std::move(options), LoopContext{clock, sleeper, log.logger(), 3}) {}

  void start() {
    thread = std::jthread([this](const std::stop_token& stop) { informer.run(stop); });
  }

  void start_and_sync() {
    start();
    REQUIRE(informer.wait_for_sync({}));
  }

  void finish() {
    thread.request_stop();
    thread.join();
  }

  fakes::ManualClock clock;
  fakes::InstantSleeper sleeper{clock};
  fakes::LogLines log;
  FakeApiServer server;
  Informer informer;
  std::jthread thread;
};

TEST_CASE("informer: holds what the server holds, and follows it", "[runtime][threads]") {
  Recorder recorder;
  Bench bench;
  bench.server.create("a");
  bench.informer.add_handler(recorder.handler());
  bench.start_and_sync();
  REQUIRE(bench.informer.store().get("ns/a") != nullptr);

  bench.server.create("b");
  REQUIRE(recorder.wait_for(2));  // What happens to other keys meanwhile may overtake.
  bench.server.update("a");
  REQUIRE(recorder.wait_for(3));
  bench.server.remove("b");
  REQUIRE(recorder.wait_for(4));
  REQUIRE(recorder.events() == Strings{"initial a@1", "add b@2", "update a@1 a@3", "delete b@4"});
}

TEST_CASE("informer: the store is ahead of its handlers", "[runtime][threads]") {
  fakes::Witness witness;
  Bench bench;
  int seen = 0;
  bool ahead = true;
  bench.informer.add_handler({[&](const Added& event) {
                                const auto stored =
                                    bench.informer.store().get(key_of(*event.object));
                                witness.change([&] {
                                  ahead = ahead && stored != nullptr;
                                  ++seen;
                                });
                              },
                              {},
                              {}});
  bench.start_and_sync();
  for (int count = 0; count < 50; ++count) {
    bench.server.create("p" + std::to_string(count));
  }
  REQUIRE(witness.eventually([&] { return seen == 50; }));
  REQUIRE(ahead);
}

TEST_CASE("informer: a late handler first hears of everything that is there",
          "[runtime][threads]") {
  Recorder late;
  Bench bench;
  bench.server.create("a");
  bench.server.create("b");
  bench.start_and_sync();

  const Subscription& subscription = bench.informer.add_handler(late.handler());
  REQUIRE(late.wait_for(2));
  bench.server.create("c");
  REQUIRE(late.wait_for(3));
  REQUIRE(subscription.has_synced());
  Strings events = late.events();
  std::sort(events.begin(), events.begin() + 2);  // A store has no order.
  REQUIRE(events == Strings{"initial a@1", "initial b@2", "add c@3"});
}

TEST_CASE("informer: late handlers miss nothing and hear nothing twice", "[runtime][threads]") {
  std::vector<std::unique_ptr<Recorder>> recorders;
  Bench bench;
  bench.start_and_sync();
  {
    const std::jthread writer([&] {
      for (int count = 0; count < 300; ++count) {
        bench.server.create("p" + std::to_string(count));
      }
    });
    for (int count = 0; count < 20; ++count) {
      recorders.push_back(std::make_unique<Recorder>());
      bench.informer.add_handler(recorders.back()->handler());
    }
  }
  for (const auto& recorder : recorders) {
    REQUIRE(recorder->wait_for(300));
  }
  bench.finish();
  for (const auto& recorder : recorders) {
    REQUIRE(recorder->events().size() == 300);
    REQUIRE(recorder->consistent());
  }
}

TEST_CASE("informer: a slow handler does not hold up another", "[runtime][threads]") {
  std::counting_semaphore<> gate(0);
  Recorder quick;
  Bench bench;
  bench.informer.add_handler({[&](const Added&) { gate.acquire(); }, {}, {}});
  bench.informer.add_handler(quick.handler());
  bench.start_and_sync();
  for (int count = 0; count < 100; ++count) {
    bench.server.create("p" + std::to_string(count));
  }
  const bool all = quick.wait_for(100);
  gate.release(100);
  REQUIRE(all);
}

TEST_CASE("informer: a handler that throws gets the next event", "[runtime][threads]") {
  Recorder recorder;
  Bench bench;
  Handler inner = recorder.handler();
  bench.informer.add_handler({[&](const Added& event) {
                                if (event.object->name == "bad") {
                                  throw std::runtime_error("cannot stand it");
                                }
                                if (event.object->name == "bad-too") {
                                  throw 5;
                                }
                                inner.on_add(event);
                              },
                              inner.on_update, inner.on_delete});
  bench.server.create("bad");
  bench.server.create("bad-too");
  bench.server.create("good");
  bench.start();
  REQUIRE(recorder.wait_for(1));
  REQUIRE(recorder.events() == Strings{"initial good@3"});
  REQUIRE(bench.log.mention("cannot stand it"));
}

TEST_CASE("informer: a subscription is synced when its handler is through", "[runtime][threads]") {
  std::binary_semaphore inside(0);
  std::binary_semaphore gate(0);
  Recorder recorder;
  Bench bench;
  bench.server.create("a");
  const Subscription& slow = bench.informer.add_handler({[&](const Added&) {
                                                           inside.release();
                                                           gate.acquire();
                                                         },
                                                         {},
                                                         {}});
  bench.informer.add_handler(recorder.handler());
  bench.start_and_sync();
  inside.acquire();
  REQUIRE(bench.informer.has_synced());
  REQUIRE_FALSE(slow.has_synced());
  gate.release();
  while (!slow.has_synced()) {
    std::this_thread::yield();
  }
}

TEST_CASE("informer: an empty server is synced too", "[runtime][threads]") {
  Bench bench;
  bench.start_and_sync();
  REQUIRE(bench.informer.store().size() == 0);
}

TEST_CASE("informer: waiting for the sync ends with the stop", "[runtime][threads]") {
  Bench bench;
  std::stop_source stop;
  stop.request_stop();
  REQUIRE_FALSE(bench.informer.wait_for_sync(stop.get_token()));
}

TEST_CASE("informer: no handler is called after run returned", "[runtime][threads]") {
  Recorder recorder;
  Recorder after;
  Bench bench;
  bench.informer.add_handler(recorder.handler());
  bench.start_and_sync();
  bench.server.create("a");
  bench.finish();
  const Strings before = recorder.events();
  bench.informer.add_handler(after.handler());
  bench.server.create("b");
  REQUIRE(recorder.events() == before);
  REQUIRE(after.events().empty());
}

TEST_CASE("informer: resync repeats every object with its version", "[runtime][threads]") {
  fakes::ManualClock clock;
  fakes::GateSleeper sleeper;
  FakeApiServer server;
  server.create("a");
  InformerOptions options;
  options.resync = 1ms;  // Less than allowed.
  Recorder recorder;
  Informer informer(server, options, LoopContext{clock, sleeper, base::Logger::silent(), 1});
  informer.add_handler(recorder.handler());
  std::jthread thread([&](const std::stop_token& stop) { informer.run(stop); });
  REQUIRE(recorder.wait_for(1));
  REQUIRE(informer.wait_for_sync({}));  // What is just being told is left out by a resync.

  REQUIRE(sleeper.wake_one() == 1s);
  REQUIRE(recorder.wait_for(2));
  REQUIRE(recorder.events() == Strings{"initial a@1", "update a@1 a@1"});
}

TEST_CASE("scenario: what happened while the watch was down is found", "[runtime][threads]") {
  Recorder recorder;
  Bench bench;
  bench.informer.add_handler(recorder.handler());
  bench.server.create("kept");
  bench.server.create("gone");
  bench.start_and_sync();

  SECTION("the log still has it: resumed, the final state is known") {
    bench.server.update("kept");  // A watch that brought something is resumed.
    REQUIRE(recorder.wait_for(3));
    bench.server.go_down();
    bench.server.remove("gone");
    bench.server.come_up();
    REQUIRE(recorder.wait_for(4));
    REQUIRE(recorder.events().back() == "delete gone@4");
  }
  SECTION("the log is compacted: relisted, the final state is a guess") {
    bench.server.go_down();
    bench.server.remove("gone");
    bench.server.create("new");
    bench.server.compact();
    bench.server.come_up();
    REQUIRE(recorder.wait_for(5));  // A relist repeats what it finds.
    Strings events = recorder.events();
    std::sort(events.begin() + 2, events.end());
    REQUIRE(Strings(events.begin() + 2, events.end()) ==
            Strings{"add new@4", "lost gone@2", "update kept@1 kept@1"});
  }
}

TEST_CASE("scenario: an event lost for good is made up for by the next list",
          "[runtime][threads]") {
  Recorder recorder;
  Bench bench;
  bench.informer.add_handler(recorder.handler());
  bench.server.create("a");
  bench.start_and_sync();
  bench.server.wait_for_watch();
  bench.server.lose_next_event();
  bench.server.update("a");
  bench.server.send_error_event(500, "InternalError");
  REQUIRE(recorder.wait_for(2));
  REQUIRE(recorder.events() == Strings{"initial a@1", "update a@1 a@2"});
}

TEST_CASE("scenario: nothing goes back in time when a replica lists an old state",
          "[runtime][threads]") {
  Recorder recorder;
  Bench bench;
  bench.informer.add_handler(recorder.handler());
  bench.server.create("a");
  bench.start_and_sync();
  bench.server.remember_for_stale_lists();
  bench.server.update("a");
  REQUIRE(recorder.wait_for(2));
  bench.server.answer_stale_lists(3);
  bench.server.send_error_event(410, "Expired");
  REQUIRE(recorder.wait_for(3));
  REQUIRE(recorder.events() == Strings{"initial a@1", "update a@1 a@2", "update a@2 a@2"});
}

TEST_CASE("scenario: the store converges through every fault", "[runtime][threads]") {
  Recorder recorder;
  Bench bench(InformerOptions{"Pod", drop_managed_fields, base::Duration(0), 3});
  bench.informer.add_handler(recorder.handler());
  bench.start_and_sync();
  {
    const auto write = [&](unsigned seed) {
      std::mt19937 random(seed);
      for (int round = 0; round < 400; ++round) {
        const std::string name = "p" + std::to_string(random() % 20);
        const auto dice = random() % 3;
        dice == 0 ? bench.server.create(name)
                  : (dice == 1 ? bench.server.update(name) : bench.server.remove(name));
      }
    };
    const std::jthread one(write, 1);
    const std::jthread two(write, 2);
    std::mt19937 random(3);
    for (int round = 0; round < 60; ++round) {
      switch (random() % 5) {
        case 0:
          bench.server.break_watches();
          break;
        case 1:
          bench.server.compact();
          break;
        case 2:
          bench.server.send_error_event(410, "Gone");
          break;
        case 3:
          bench.server.go_down();
          std::this_thread::yield();
          bench.server.come_up();
          break;
        default:
          bench.server.send_bookmark();
      }
      std::this_thread::yield();
    }
  }
  bench.server.create("the-end");
  REQUIRE(recorder.wait_for_object("the-end"));
  bench.finish();

  std::map<std::string, std::string> held;
  for (const ObjectPtr& object : bench.informer.store().list()) {
    held.emplace(object->name, object->resource_version);
  }
  REQUIRE(held == bench.server.versions());
  REQUIRE(recorder.consistent());
}

}  // namespace
}  // namespace injector::runtime
