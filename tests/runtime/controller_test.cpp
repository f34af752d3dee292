#include "runtime/controller.h"

#include <atomic>
#include <chrono>
#include <map>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/runtime/fakes.h"

namespace injector::runtime {
namespace {

using namespace std::chrono_literals;

// A controller on a thread of its own, in real time: its delays are milliseconds.
struct Bench {
  explicit Bench(Reconcile reconcile, std::size_t workers = 1)
      : controller({"test", workers, {}}, std::move(reconcile),
                   LoopContext{clock, sleeper, log.logger(), 1}),
        thread([this](const std::stop_token& stop) { controller.run(stop); }) {}

  base::SteadyClock clock;
  SteadySleeper sleeper;
  fakes::LogLines log;
  Controller controller;
  std::jthread thread;
};

TEST_CASE("controller: reconciles what is enqueued", "[runtime][threads]") {
  fakes::Witness witness;
  std::vector<std::string> seen;
  Bench bench([&](const std::string& key, const std::stop_token&) {
    witness.change([&] { seen.push_back(key); });
    return Outcome::done();
  });
  bench.controller.enqueue("ns/a");
  bench.controller.enqueue("ns/b");
  REQUIRE(witness.eventually([&] { return seen.size() == 2; }));
  REQUIRE(seen == std::vector<std::string>{"ns/a", "ns/b"});
}

TEST_CASE("controller: the outcome of a failure is a retry that says why", "[runtime]") {
  REQUIRE(Outcome::of({}).kind == Outcome::Kind::Done);
  const Outcome failed = Outcome::of(fakes::error(base::ErrorCode::Conflict, "somebody was first"));
  REQUIRE(failed.kind == Outcome::Kind::Retry);
  REQUIRE(failed.why == "somebody was first");
}

TEST_CASE("controller: a retry comes back until it is done, then is forgotten",
          "[runtime][threads]") {
  fakes::Witness witness;
  int calls = 0;
  int other = 0;
  Bench bench([&](const std::string& key, const std::stop_token&) {
    int call = 0;
    witness.change([&] { call = key == "a" ? ++calls : ++other; });
    return key == "a" && call < 4 ? Outcome::retry("conflict") : Outcome::done();
  });
  bench.controller.enqueue("a");
  REQUIRE(witness.eventually([&] { return calls == 4; }));
  bench.controller.enqueue("b");  // The one worker is past settling "a" when it comes to this.
  REQUIRE(witness.eventually([&] { return other == 1; }));
  REQUIRE(bench.controller.queue().retries("a") == 0);
  REQUIRE(bench.log.mention("conflict"));
}

TEST_CASE("controller: requeue after comes back once without counting as failure",
          "[runtime][threads]") {
  fakes::Witness witness;
  int calls = 0;
  Bench bench([&](const std::string&, const std::stop_token&) {
    int call = 0;
    witness.change([&] { call = ++calls; });
    return call == 1 ? Outcome::requeue_after(1ms) : Outcome::done();
  });
  bench.controller.enqueue("a");
  REQUIRE(witness.eventually([&] { return calls == 2; }));
  REQUIRE(bench.controller.queue().retries("a") == 0);
}

TEST_CASE("controller: given up is logged, forgotten and not retried", "[runtime][threads]") {
  fakes::Witness witness;
  std::map<std::string, int> calls;
  Bench bench([&](const std::string& key, const std::stop_token&) {
    int call = 0;
    witness.change([&] { call = ++calls[key]; });
    if (key == "last") {
      return Outcome::done();
    }
    return call == 1 ? Outcome::retry("once") : Outcome::give_up("hopeless");
  });
  bench.controller.enqueue("a");
  REQUIRE(witness.eventually([&] { return calls["a"] == 2; }));
  bench.controller.enqueue("last");
  REQUIRE(witness.eventually([&] { return calls["last"] == 1; }));
  REQUIRE(bench.controller.queue().retries("a") == 0);
  REQUIRE(bench.controller.queue().ready() == 0);
  REQUIRE(bench.log.mention("hopeless"));
}

TEST_CASE("controller: an exception is logged and retried", "[runtime][threads]") {
  fakes::Witness witness;
  int calls = 0;
  Bench bench([&](const std::string&, const std::stop_token&) -> Outcome {
    int call = 0;
    witness.change([&] { call = ++calls; });
    if (call == 1) {
      throw std::runtime_error("broken object");
    }
    if (call == 2) {
      throw 17;  // Not even a std::exception.
    }
    return Outcome::done();
  });
  bench.controller.enqueue("a");
  REQUIRE(witness.eventually([&] { return calls == 3; }));
  REQUIRE(bench.log.mention("broken object"));
}

TEST_CASE("controller: a stop lets the running reconcile finish", "[runtime][threads]") {
  std::atomic<bool> began = false;
  std::atomic<bool> finished = false;
  Bench bench([&](const std::string&, const std::stop_token& stop) {
    began = true;
    began.notify_all();
    SteadySleeper().sleep(24h, stop);  // Its own waits end with the stop.
    finished = true;
    return Outcome::done();
  });
  bench.controller.enqueue("a");
  bench.controller.enqueue("never");
  began.wait(false);
  bench.thread.request_stop();
  bench.thread.join();
  REQUIRE(finished);
  REQUIRE(bench.controller.queue().ready() == 1);
}

TEST_CASE("controller: many workers, every key, never two on one", "[runtime][threads]") {
  constexpr int kKeys = 20;
  constexpr int kAdds = 2000;
  fakes::Witness witness;
  std::map<std::string, int> wanted;
  std::map<std::string, int> done;
  std::map<std::string, int> busy;
  bool overlapped = false;
  Bench bench(
      [&](const std::string& key, const std::stop_token&) {
        int target = 0;
        witness.change([&] {
          overlapped = overlapped || busy[key]++ != 0;
          target = wanted[key];
        });
        std::this_thread::yield();
        witness.change([&] {
          --busy[key];
          done[key] = target;
        });
        return target % 97 == 0 ? Outcome::retry("now and then") : Outcome::done();
      },
      4);
  {
    const auto produce = [&](int producer) {
      for (int count = 0; count < kAdds; ++count) {
        const std::string key = std::to_string((count * 3 + producer) % kKeys);
        witness.change([&] { ++wanted[key]; });
        bench.controller.enqueue(key);
      }
    };
    const std::jthread one(produce, 1);
    const std::jthread two(produce, 2);
  }
  REQUIRE(witness.eventually([&] { return done == wanted; }));
  REQUIRE_FALSE(overlapped);
}

}  // namespace
}  // namespace injector::runtime
