#include "runtime/event_recorder.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <mutex>
#include <semaphore>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/runtime/fakes.h"

namespace injector::runtime {
namespace {

using namespace std::chrono_literals;
using base::ErrorCode;
using base::Result;
using Strings = std::vector<std::string>;

EventRecord event(const std::string& message, const std::string& reason = "Injected",
                  const std::string& object = "pod") {
  EventRecord record;
  record.name_space = "ns";
  record.involved = {"v1", "Pod", "ns", object, "uid-" + object, "1", ""};
  record.type = "Normal";
  record.reason = reason;
  record.message = message;
  record.component = "test";
  return record;
}

TEST_CASE("event correlator: a repeat keeps its name and counts up", "[runtime]") {
  const fakes::ManualClock clock;
  EventCorrelator correlator;
  const auto first = correlator.plan(event("one"), clock.now());
  const auto second = correlator.plan(event("one"), clock.now());
  REQUIRE_FALSE(first->repeat);
  REQUIRE(first->event.count == 1);
  REQUIRE(second->repeat);
  REQUIRE(second->event.count == 2);
  REQUIRE(second->event.name == first->event.name);
}

TEST_CASE("event correlator: names are the object's, with nanoseconds, never twice", "[runtime]") {
  const fakes::ManualClock clock;
  EventCorrelator correlator;
  EventRecord one = event("one");
  one.first = std::chrono::system_clock::time_point(std::chrono::microseconds(1));
  EventRecord two = one;
  two.message = "two";
  REQUIRE(correlator.plan(one, clock.now())->event.name == "pod.3e8");
  REQUIRE(correlator.plan(two, clock.now())->event.name == "pod.3e9");
}

TEST_CASE("event correlator: parts that run together are told apart", "[runtime]") {
  const fakes::ManualClock clock;
  EventCorrelator correlator;
  static_cast<void>(correlator.plan(event("c", "ab"), clock.now()));
  REQUIRE_FALSE(correlator.plan(event("bc", "a"), clock.now())->repeat);
}

TEST_CASE("event correlator: from the tenth message on similar events share one", "[runtime]") {
  const fakes::ManualClock clock;
  EventCorrelator correlator;
  for (int count = 1; count <= 9; ++count) {
    const auto plan = correlator.plan(event("message " + std::to_string(count)), clock.now());
    REQUIRE_FALSE(plan->repeat);
    REQUIRE(plan->event.message == "message " + std::to_string(count));
  }
  const auto tenth = correlator.plan(event("message 10"), clock.now());
  REQUIRE_FALSE(tenth->repeat);
  REQUIRE(tenth->event.message == "(combined from similar events): message 10");
  const auto next = correlator.plan(event("message 11"), clock.now());
  REQUIRE(next->repeat);
  REQUIRE(next->event.name == tenth->event.name);
  REQUIRE(next->event.message == "(combined from similar events): message 11");
  REQUIRE_FALSE(correlator.plan(event("message 12", "Refused"), clock.now())->repeat);
}

TEST_CASE("event correlator: ten quiet minutes end the sharing", "[runtime]") {
  fakes::ManualClock clock;
  EventCorrelator correlator;
  for (int count = 1; count <= 12; ++count) {
    static_cast<void>(correlator.plan(event(std::to_string(count)), clock.now()));
  }
  SECTION("not yet") {
    clock.advance(600s);
    REQUIRE(correlator.plan(event("new"), clock.now())->event.message ==
            "(combined from similar events): new");
  }
  SECTION("over") {
    clock.advance(601s);
    REQUIRE(correlator.plan(event("new"), clock.now())->event.message == "new");
  }
}

TEST_CASE("event correlator: 25 at once about one object, then one in five minutes", "[runtime]") {
  fakes::ManualClock clock;
  EventCorrelator correlator;
  for (int count = 0; count < 25; ++count) {
    REQUIRE(correlator.plan(event("same"), clock.now()).has_value());
  }
  REQUIRE_FALSE(correlator.plan(event("same"), clock.now()).has_value());
  REQUIRE(correlator.plan(event("same", "Injected", "another"), clock.now()).has_value());
  clock.advance(299s);
  REQUIRE_FALSE(correlator.plan(event("same"), clock.now()).has_value());
  clock.advance(1s);
  const auto plan = correlator.plan(event("same"), clock.now());
  REQUIRE(plan->event.count == 28);  // Those dropped happened all the same.
}

TEST_CASE("event correlator: 25 about one object, whatever their types", "[runtime]") {
  const fakes::ManualClock clock;
  EventCorrelator correlator;
  int written = 0;
  for (int count = 0; count < 40; ++count) {
    EventRecord record = event("same");
    record.type = count % 2 == 0 ? "Normal" : "Warning";
    written += correlator.plan(record, clock.now()).has_value() ? 1 : 0;
  }
  REQUIRE(written == 25);
}

TEST_CASE("event correlator: invented objects do not get around the bound of a namespace",
          "[runtime]") {
  fakes::ManualClock clock;
  EventCorrelator correlator;
  int next = 0;
  const auto plan = [&](const std::string& name_space) {
    EventRecord record = event("m", "Refused", "owner-" + std::to_string(next++));
    record.name_space = record.involved.name_space = name_space;
    return correlator.plan(record, clock.now()).has_value();
  };
  for (int count = 0; count < 1000; ++count) {
    REQUIRE(plan("tenant"));
  }
  REQUIRE_FALSE(plan("tenant"));
  REQUIRE(plan("another"));
  clock.advance(1s);
  REQUIRE(plan("tenant"));
  REQUIRE_FALSE(plan("tenant"));
}

TEST_CASE("keyed hash: is SipHash-2-4", "[runtime]") {
  std::string text;  // The example of its authors: bytes 0 to 14, under a key of bytes 0 to 15.
  for (char byte = 0; byte < 15; ++byte) {
    text += byte;
  }
  const HashKey key{0x0706050403020100U, 0x0f0e0d0c0b0a0908U};
  REQUIRE(keyed_hash(key, text) == 0xa129ca6149be45e5U);
  REQUIRE(keyed_hash(key, "") == 0x726fdb47dd0e0e31U);
  REQUIRE(keyed_hash({1, 2}, text) != keyed_hash(key, text));
}

TEST_CASE("lru cache: forgets what was not touched for longest", "[runtime]") {
  LruCache<int, std::string> cache(2);
  cache.find_or_insert(1, "one");
  cache.find_or_insert(2, "two");
  REQUIRE(cache.find(1) != nullptr);
  cache.find_or_insert(3, "three");
  REQUIRE(cache.find(2) == nullptr);
  REQUIRE(cache.find_or_insert(1, "fresh") == "one");
  REQUIRE(cache.size() == 2);
}

/// Writes down what arrives; answers from a function.
class FakeSink final : public EventSink {
 public:
  using Answer = std::function<Result<void>(const std::string& call)>;

  Result<void> create(const EventRecord& record, const std::stop_token& stop) override {
    return take("create " + record.message + " x" + std::to_string(record.count), stop);
  }

  Result<void> patch(const EventRecord& record, const std::stop_token& stop) override {
    return take("patch " + record.message + " x" + std::to_string(record.count), stop);
  }

  bool wait_for(std::size_t count) {
    return witness_.eventually([&] { return calls_.size() >= count; });
  }

  Strings calls() {
    Strings copy;
    witness_.change([&] { copy = calls_; });
    return copy;
  }

  Answer answer = [](const std::string&) { return Result<void>(); };  // Set before use.

 private:
  Result<void> take(const std::string& call, const std::stop_token& stop) {
    witness_.change([&] { calls_.push_back(call); });
    if (stop.stop_requested()) {
      return fakes::error(ErrorCode::Cancelled);
    }
    return answer(call);
  }

  fakes::Witness witness_;
  Strings calls_;
};

// A stop may cut one call short; the recorder then tries that one again, right behind.
Strings without_the_cut_one(const Strings& calls) {
  Strings written = calls;
  written.erase(std::unique(written.begin(), written.end()), written.end());
  return written;
}

const ObjectReference kPod{"v1", "Pod", "ns", "pod", "uid", "1", ""};

EventRecorderOptions options() {
  EventRecorderOptions chosen;
  chosen.component = "test";
  return chosen;
}

TEST_CASE("event recorder: creates, then counts up by patch", "[runtime][threads]") {
  const fakes::ManualClock clock;
  fakes::GateSleeper sleeper;
  FakeSink sink;
  EventRecorder recorder(sink, options(), LoopContext{clock, sleeper, base::Logger::silent(), 1});
  recorder.record(kPod, EventType::Normal, "Injected", "a");
  recorder.record(kPod, EventType::Normal, "Injected", "a");
  recorder.record(kPod, EventType::Warning, "Injected", "a");
  REQUIRE(sink.wait_for(3));
  REQUIRE(sink.calls() == Strings{"create a x1", "patch a x2", "create a x1"});
  REQUIRE(recorder.dropped() == 0);
}

TEST_CASE("event recorder: a message has at most 1024 bytes, combined or not",
          "[runtime][threads]") {
  const fakes::ManualClock clock;
  fakes::GateSleeper sleeper;
  FakeSink sink;
  EventRecorder recorder(sink, options(), LoopContext{clock, sleeper, base::Logger::silent(), 1});
  for (int count = 0; count < 12; ++count) {
    recorder.record(kPod, EventType::Warning, "Unrecognized",
                    std::to_string(count) + std::string(2'600'000, 'a'));
  }
  REQUIRE(sink.wait_for(12));
  for (const std::string& call : sink.calls()) {
    CHECK(call.size() <= std::string("create  x12").size() + 1024);
    CHECK_THAT(call, Catch::Contains("aaa…"));
  }
  CHECK_THAT(sink.calls().back(), Catch::Contains("(combined from similar events)"));
}

TEST_CASE("event recorder: what is about an impossible object is dropped, and counted",
          "[runtime][threads]") {
  const fakes::ManualClock clock;
  fakes::GateSleeper sleeper;
  FakeSink sink;
  prometheus::Registry registry;
  EventRecorderOptions chosen = options();
  chosen.metrics = &registry;
  EventRecorder recorder(sink, chosen, LoopContext{clock, sleeper, base::Logger::silent(), 1});
  recorder.record({"v1", "Pod", "ns", std::string(1'000'000, 'a'), "", "", ""}, EventType::Normal,
                  "Injected", "a");
  recorder.record(kPod, EventType::Normal, "Injected", "b");
  REQUIRE(sink.wait_for(1));
  REQUIRE(sink.calls() == Strings{"create b x1"});
  REQUIRE(recorder.dropped() == 1);
  const auto families = registry.Collect();
  REQUIRE(families.size() == 1);
  CHECK(families.front().name == "envoy_initializer_events_dropped_total");
  CHECK(families.front().metric.front().counter.value == 1);
}

TEST_CASE("event recorder: an event that is gone is created anew", "[runtime][threads]") {
  const fakes::ManualClock clock;
  fakes::GateSleeper sleeper;
  FakeSink sink;
  sink.answer = [](const std::string& call) {
    return call.starts_with("patch") ? Result<void>(fakes::error(ErrorCode::NotFound))
                                     : Result<void>();
  };
  EventRecorder recorder(sink, options(), LoopContext{clock, sleeper, base::Logger::silent(), 1});
  recorder.record(kPod, EventType::Normal, "Injected", "a");
  recorder.record(kPod, EventType::Normal, "Injected", "a");
  REQUIRE(sink.wait_for(3));
  REQUIRE(sink.calls() == Strings{"create a x1", "patch a x2", "create a x2"});
}

TEST_CASE("event recorder: cluster-scoped objects have their events in default",
          "[runtime][threads]") {
  class NamespaceSink final : public EventSink {
   public:
    Result<void> create(const EventRecord& record, const std::stop_token&) override {
      name_space = record.name_space + " " + record.name.substr(0, 5);
      return {};
    }

    Result<void> patch(const EventRecord&, const std::stop_token&) override { return {}; }

    std::string name_space;
  };

  const fakes::ManualClock clock;
  fakes::GateSleeper sleeper;
  NamespaceSink sink;
  {
    EventRecorder recorder(sink, options(), LoopContext{clock, sleeper, base::Logger::silent(), 1});
    recorder.record({"v1", "Node", "", "node", "", "", ""}, EventType::Normal, "Ready", "a");
  }
  REQUIRE(sink.name_space == "default node.");
}

TEST_CASE("event recorder: nobody answering is tried 12 times, ten seconds apart",
          "[runtime][threads]") {
  fakes::ManualClock clock;
  fakes::InstantSleeper sleeper(clock);
  FakeSink sink;
  sink.answer = [](const std::string& call) {
    return call.find("lost") != std::string::npos
               ? Result<void>(fakes::error(ErrorCode::Unavailable))
               : Result<void>();
  };
  EventRecorder recorder(sink, options(), LoopContext{clock, sleeper, base::Logger::silent(), 1});
  recorder.record(kPod, EventType::Normal, "Injected", "lost");
  recorder.record(kPod, EventType::Normal, "Injected", "next");
  REQUIRE(sink.wait_for(13));
  REQUIRE(sink.calls().back() == "create next x1");
  REQUIRE(recorder.dropped() == 1);
  const auto slept = sleeper.slept();
  REQUIRE(slept.size() == 11);
  REQUIRE(slept.front() <= 10s);
  REQUIRE(std::vector<base::Duration>(slept.begin() + 1, slept.end()) ==
          std::vector<base::Duration>(10, 10s));
}

TEST_CASE("event recorder: a refusal is not tried again", "[runtime][threads]") {
  const auto code = GENERATE(ErrorCode::Forbidden, ErrorCode::InvalidInput, ErrorCode::Internal,
                             ErrorCode::NotFound, ErrorCode::TooManyRequests);
  const fakes::ManualClock clock;
  fakes::GateSleeper sleeper;
  FakeSink sink;
  sink.answer = [code](const std::string&) { return Result<void>(fakes::error(code)); };
  EventRecorder recorder(sink, options(), LoopContext{clock, sleeper, base::Logger::silent(), 1});
  recorder.record(kPod, EventType::Normal, "Injected", "a");
  recorder.record(kPod, EventType::Normal, "Injected", "b");
  REQUIRE(sink.wait_for(2));
  REQUIRE(sink.calls() == Strings{"create a x1", "create b x1"});
}

TEST_CASE("event recorder: a full queue drops, counts, and never blocks", "[runtime][threads]") {
  const fakes::ManualClock clock;
  fakes::GateSleeper sleeper;
  FakeSink sink;
  std::binary_semaphore gate(0);
  sink.answer = [&](const std::string& call) {
    if (call.find("blocks") != std::string::npos) {
      gate.acquire();
    }
    return Result<void>();
  };
  EventRecorderOptions chosen = options();
  chosen.queue_limit = 3;
  {
    EventRecorder recorder(sink, chosen, LoopContext{clock, sleeper, base::Logger::silent(), 1});
    recorder.record(kPod, EventType::Normal, "Injected", "blocks");
    REQUIRE(sink.wait_for(1));
    for (int count = 0; count < 5; ++count) {
      recorder.record(kPod, EventType::Normal, "Injected", std::to_string(count));
    }
    CHECK(recorder.dropped() == 2);
    gate.release();
    CHECK(sink.wait_for(4));
  }
  REQUIRE(without_the_cut_one(sink.calls()).size() == 4);
}

TEST_CASE("event recorder: destruction writes what is left", "[runtime][threads]") {
  const fakes::ManualClock clock;
  fakes::GateSleeper sleeper;
  FakeSink sink;
  {
    EventRecorder recorder(sink, options(), LoopContext{clock, sleeper, base::Logger::silent(), 1});
    for (int count = 0; count < 8; ++count) {
      recorder.record(kPod, EventType::Normal, "Injected", std::to_string(count));
    }
  }
  REQUIRE(without_the_cut_one(sink.calls()) == Strings{"create 0 x1", "create 1 x1", "create 2 x1",
                                                       "create 3 x1", "create 4 x1", "create 5 x1",
                                                       "create 6 x1", "create 7 x1"});
}

TEST_CASE("event recorder: destruction does not wait for a server that is away",
          "[runtime][threads]") {
  const fakes::ManualClock clock;
  fakes::GateSleeper sleeper;
  FakeSink sink;
  sink.answer = [](const std::string&) {
    return Result<void>(fakes::error(ErrorCode::Unavailable));
  };
  {
    EventRecorder recorder(sink, options(), LoopContext{clock, sleeper, base::Logger::silent(), 1});
    recorder.record(kPod, EventType::Normal, "Injected", "a");
    sleeper.wait_for_sleeper();
    for (int count = 0; count < 5; ++count) {
      recorder.record(kPod, EventType::Normal, "Injected", std::to_string(count));
    }
  }
  REQUIRE(sink.calls() == Strings{"create a x1", "create a x1"});
}

TEST_CASE("event recorder: many callers at once lose nothing", "[runtime][threads]") {
  const fakes::ManualClock clock;
  fakes::GateSleeper sleeper;
  FakeSink sink;
  {
    EventRecorder recorder(sink, options(), LoopContext{clock, sleeper, base::Logger::silent(), 1});
    std::vector<std::jthread> callers;
    for (int caller = 0; caller < 4; ++caller) {
      callers.emplace_back([&recorder, caller] {
        for (int count = 0; count < 100; ++count) {
          const std::string name = std::to_string(caller) + "-" + std::to_string(count);
          recorder.record({"v1", "Pod", "ns", name, "", "", ""}, EventType::Normal, "Injected",
                          name);
        }
      });
    }
    callers.clear();
    CHECK(sink.wait_for(400));
  }
  const Strings calls = sink.calls();
  REQUIRE(std::set<std::string>(calls.begin(), calls.end()).size() == 400);
}

}  // namespace
}  // namespace injector::runtime
