#include "runtime/reflector.h"

#include <chrono>
#include <set>
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
using base::ErrorCode;
using base::Json;
using fakes::added;
using fakes::bookmark;
using fakes::closed;
using fakes::deleted;
using fakes::error_event;
using fakes::modified;
using fakes::pod;
using Strings = std::vector<std::string>;
using State = Reflector::State;

// A reflector in front of a scripted server; run() ends where the script does.
struct Bench {
  explicit Bench(ReflectorOptions options = {})
      : reflector(server, fifo, std::move(options), LoopContext{clock, sleeper, log.logger(), 42}) {
  }

  void run() { reflector.run(stop.get_token()); }

  Strings list_versions() const {
    Strings versions;
    for (const ListOptions& each : server.lists) {
      versions.push_back(each.resource_version);
    }
    return versions;
  }

  Strings watch_versions() const {
    Strings versions;
    for (const WatchOptions& each : server.watches) {
      versions.push_back(each.resource_version);
    }
    return versions;
  }

  // Every delta that reached the queue, worked off as an informer does.
  Strings deltas() {
    Strings texts;
    while (const auto batch = fifo.try_take()) {
      for (const Delta& delta : batch->deltas()) {
        const char* const names[] = {"+", "~", "-", "=", "s"};
        texts.push_back(names[static_cast<int>(delta.type)] + delta.object->name + "@" +
                        delta.object->resource_version);
        if (delta.type == DeltaType::Deleted) {
          store.erase(batch->key());
        } else {
          store.put(delta.object);
        }
      }
    }
    return texts;
  }

  fakes::ManualClock clock;
  fakes::InstantSleeper sleeper{clock};
  fakes::LogLines log;
  std::stop_source stop;
  fakes::ScriptedServer server{clock, stop};
  Store store;
  DeltaFifo fifo{store};
  Reflector reflector;
};

TEST_CASE("reflector: lists from the cache, then watches from the list's version", "[runtime]") {
  Bench bench;
  bench.server.will_list({pod("a", "3"), pod("b", "4")}, "5");
  bench.server.will_watch({added("c", "6"), modified("a", "7"), deleted("b", "8")});
  bench.run();

  REQUIRE(bench.list_versions() == Strings{"0"});
  REQUIRE(bench.server.lists.front().limit == 500);
  REQUIRE(bench.watch_versions() == Strings{"5"});
  REQUIRE(bench.deltas() == Strings{"=a@3", "~a@7", "=b@4", "-b@8", "+c@6"});
  REQUIRE(bench.reflector.resource_version() == "8");
  REQUIRE(bench.sleeper.slept().empty());
}

TEST_CASE("reflector: a watch asks for bookmarks and five to ten minutes", "[runtime]") {
  Bench bench;
  bench.server.will_list({}, "5");
  for (int count = 0; count < 200; ++count) {
    bench.server.will_watch({{closed(), 5min}});
  }
  bench.run();

  REQUIRE(bench.server.watches.size() == 200);
  std::set<std::chrono::seconds> timeouts;
  for (const WatchOptions& watch : bench.server.watches) {
    REQUIRE(watch.allow_bookmarks);
    REQUIRE(watch.timeout >= 300s);
    REQUIRE(watch.timeout < 600s);
    timeouts.insert(watch.timeout);
  }
  REQUIRE(timeouts.size() > 50);
}

TEST_CASE("reflector: pages follow the continue token without a version", "[runtime]") {
  Bench bench;
  bench.server.will_list({pod("a", "1")}, "5", "t1");
  bench.server.will_list({pod("b", "1")}, "5", "t2");
  bench.server.will_list({pod("c", "1")}, "5");
  bench.run();

  REQUIRE(bench.list_versions() == Strings{"0", "", ""});
  REQUIRE(bench.server.lists[1].continue_token == "t1");
  REQUIRE(bench.server.lists[2].continue_token == "t2");
  REQUIRE(bench.server.lists[2].limit == 500);
  REQUIRE(bench.deltas() == Strings{"=a@1", "=b@1", "=c@1"});
}

TEST_CASE("reflector: an expired continue token means one list in one piece", "[runtime]") {
  Bench bench;
  bench.server.will_list({pod("a", "1"), pod("gone", "1")}, "5", "t1");
  bench.server.will_list(fakes::error(ErrorCode::Expired));
  bench.server.will_list({pod("a", "6"), pod("b", "6")}, "7");
  bench.run();

  REQUIRE(bench.list_versions() == Strings{"0", "", "0"});
  REQUIRE(bench.server.lists[2].limit == 0);
  REQUIRE(bench.server.lists[2].continue_token.empty());
  REQUIRE(bench.deltas() == Strings{"=a@6", "=b@6"});
  REQUIRE(bench.reflector.resource_version() == "7");
}

TEST_CASE("reflector: a server that repeats its continue token is not believed", "[runtime]") {
  Bench bench;
  bench.server.will_list({pod("a", "1")}, "5", "t1");
  bench.server.will_list({pod("a", "1")}, "5", "t1");
  bench.run();
  REQUIRE(bench.deltas().empty());
  REQUIRE(bench.sleeper.slept().size() == 1);
}

TEST_CASE("reflector: a relist names the last version and asks for no pages", "[runtime]") {
  Bench bench;
  bench.server.will_list({pod("a", "3")}, "5");
  bench.server.will_watch({modified("a", "8"), error_event(410, "Expired")});
  bench.server.will_list({pod("a", "8")}, "9");
  bench.run();

  REQUIRE(bench.list_versions() == Strings{"0", "8"});
  REQUIRE(bench.server.lists[1].limit == 0);
}

TEST_CASE("reflector: a relist asks for pages if the first list came in pages", "[runtime]") {
  Bench bench;
  bench.server.will_list({pod("a", "3")}, "5", "t1");
  bench.server.will_list({pod("b", "3")}, "5");
  bench.server.will_watch({error_event(410, "Gone")});
  bench.server.will_list({pod("a", "3")}, "9");
  bench.run();
  REQUIRE(bench.list_versions() == Strings{"0", "", "5"});
  REQUIRE(bench.server.lists[2].limit == 500);
}

TEST_CASE("reflector: a version the server cannot list is given up at once", "[runtime]") {
  Bench bench;
  bench.server.will_list({pod("a", "3")}, "5");
  bench.server.will_watch({error_event(410, "Expired")});
  SECTION("expired") {
    bench.server.will_list(fakes::error(ErrorCode::Expired));
  }
  SECTION("too large") {
    bench.server.will_list(
        fakes::error(ErrorCode::Unavailable, "Timeout: Too large resource version: 5, current: 2"));
  }
  bench.server.will_list({pod("a", "1")}, "2");
  bench.server.will_watch({{closed(), 5min}});
  bench.run();

  REQUIRE(bench.list_versions() == Strings{"0", "5", ""});
  REQUIRE(bench.server.lists[2].limit == 500);
  REQUIRE(bench.sleeper.slept().empty());
  REQUIRE(bench.watch_versions() == Strings{"5", "2"});  // The newest list is always believed.
}

TEST_CASE("reflector: after a good list the version counts again", "[runtime]") {
  Bench bench;
  bench.server.will_list(fakes::error(ErrorCode::Expired));
  bench.server.will_list({}, "7");
  bench.server.will_watch({error_event(500, "InternalError")});
  bench.server.will_list({}, "8");
  bench.run();
  REQUIRE(bench.list_versions() == Strings{"0", "", "7"});
}

TEST_CASE("reflector: a failing list backs off and grows", "[runtime]") {
  Bench bench;
  for (int count = 0; count < 4; ++count) {
    bench.server.will_list(fakes::error(ErrorCode::Unavailable));
  }
  bench.server.will_list({}, "5");
  bench.run();

  const auto slept = bench.sleeper.slept();
  REQUIRE(slept.size() == 4);
  for (std::size_t count = 0; count < slept.size(); ++count) {
    const base::Duration least = 800ms * (1 << count);
    REQUIRE(slept[count] >= least);
    REQUIRE(slept[count] < least * 2);
  }
  REQUIRE(bench.log.mention("list failed"));
}

TEST_CASE("reflector: a watch that closes in good order resumes at once", "[runtime]") {
  Bench bench;
  bench.server.will_list({}, "5");
  bench.server.will_watch({added("a", "6"), closed()});
  bench.server.will_watch({{closed(), 2s}});
  bench.run();
  REQUIRE(bench.watch_versions() == Strings{"5", "6"});
  REQUIRE(bench.server.lists.size() == 1);
  REQUIRE(bench.sleeper.slept().empty());
}

TEST_CASE("reflector: a watch that breaks resumes at once where it was", "[runtime]") {
  Bench bench;
  bench.server.will_list({}, "5");
  bench.server.will_watch({added("a", "6"), fakes::Next(fakes::error(ErrorCode::Unavailable))});
  bench.server.will_watch({modified("a", "7")});
  bench.run();
  REQUIRE(bench.watch_versions() == Strings{"5", "6"});
  REQUIRE(bench.deltas() == Strings{"+a@6", "~a@7"});
  REQUIRE(bench.sleeper.slept().empty());
}

TEST_CASE("reflector: a watch that closes at once without an event means relist", "[runtime]") {
  Bench bench;
  bench.server.will_list({}, "5");
  bench.server.will_watch({{closed(), 999ms}});
  bench.server.will_list({}, "6");
  bench.run();
  REQUIRE(bench.list_versions() == Strings{"0", "5"});
  REQUIRE(bench.sleeper.slept().size() == 1);
}

TEST_CASE("reflector: nobody home or too many requests means wait, not relist", "[runtime]") {
  const auto code = GENERATE(ErrorCode::Unavailable, ErrorCode::TooManyRequests);
  Bench bench;
  bench.server.will_list({}, "5");
  bench.server.will_refuse_watch(code);
  bench.server.will_refuse_watch(code);
  bench.server.will_watch({added("a", "6")});
  bench.run();
  REQUIRE(bench.server.lists.size() == 1);
  REQUIRE(bench.watch_versions() == Strings{"5", "5", "5"});
  REQUIRE(bench.sleeper.slept().size() == 2);
}

TEST_CASE("reflector: a watch refused for another reason means wait and relist", "[runtime]") {
  const auto code = GENERATE(ErrorCode::Forbidden, ErrorCode::Internal);
  Bench bench;
  bench.server.will_list({}, "5");
  bench.server.will_refuse_watch(code);
  bench.server.will_list({}, "6");
  bench.run();
  REQUIRE(bench.list_versions() == Strings{"0", "5"});
  REQUIRE(bench.sleeper.slept().size() == 1);
}

TEST_CASE("reflector: an error event means wait and relist", "[runtime]") {
  const auto status = GENERATE(Json{{"code", 500}}, Json("nonsense"));
  Bench bench;
  bench.server.will_list({}, "5");
  bench.server.will_watch({fakes::event(WatchEventType::Error, status)});
  bench.server.will_list({}, "6");
  bench.run();
  REQUIRE(bench.list_versions() == Strings{"0", "5"});
  REQUIRE(bench.sleeper.slept().size() == 1);
}

TEST_CASE("reflector: an expired version means relist at once, whatever failed before",
          "[runtime]") {
  Bench bench;
  bench.server.will_list({}, "5");
  for (int count = 0; count < 6; ++count) {
    bench.server.will_refuse_watch(ErrorCode::Unavailable);  // The back-off grows.
  }
  SECTION("when the watch is opened") {
    bench.server.will_refuse_watch(ErrorCode::Expired);
  }
  SECTION("in the stream") {
    const auto status =
        GENERATE(Json{{"code", 410}}, Json{{"reason", "Expired"}}, Json{{"reason", "Gone"}});
    bench.server.will_watch({fakes::event(WatchEventType::Error, status)});
  }
  bench.server.will_list({}, "6");
  bench.run();
  REQUIRE(bench.list_versions() == Strings{"0", "5"});
  REQUIRE(bench.sleeper.slept().size() == 6);
}

TEST_CASE("reflector: a server that calls every version expired is not asked without a pause",
          "[runtime]") {
  Bench bench;
  for (const char* version : {"5", "6", "7"}) {
    bench.server.will_list({}, version);
    bench.server.will_refuse_watch(ErrorCode::Expired);
  }
  bench.run();
  REQUIRE(bench.server.lists.size() >= 3);
  REQUIRE(bench.sleeper.slept().size() >= 1);
}

TEST_CASE("reflector: tells for how long there was no watch", "[runtime]") {
  Bench bench;
  bench.server.will_list({}, "5");
  bench.server.will_watch({added("a", "6"), closed()});
  bench.server.will_refuse_watch(ErrorCode::Unavailable);
  const auto out_of_touch = [&] { return bench.reflector.out_of_touch(bench.clock.now()); };
  const auto step = [&] { bench.reflector.step(bench.stop.get_token()); };
  REQUIRE(out_of_touch() > 0ms);  // Nothing was listed yet.
  step();
  REQUIRE(out_of_touch() > 0ms);
  step();
  REQUIRE(bench.reflector.state() == State::Stream);
  REQUIRE(out_of_touch() == 0ms);
  step();  // The event.
  REQUIRE(out_of_touch() == 0ms);
  step();  // The end of the stream.
  step();  // Refused.
  bench.clock.advance(20s);
  REQUIRE(out_of_touch() == 20s);
}

TEST_CASE("reflector: an error event of too many requests means wait and resume", "[runtime]") {
  Bench bench;
  bench.server.will_list({}, "5");
  bench.server.will_watch({added("a", "6"), error_event(429, "TooManyRequests")});
  bench.server.will_watch({added("b", "7")});
  bench.run();
  REQUIRE(bench.watch_versions() == Strings{"5", "6"});
  REQUIRE(bench.sleeper.slept().size() == 1);
}

TEST_CASE("reflector: a stream of nonsense means wait and relist", "[runtime]") {
  Bench bench;
  bench.server.will_list({}, "5");
  bench.server.will_watch({fakes::Next(fakes::error(ErrorCode::Internal, "not JSON"))});
  bench.server.will_list({}, "6");
  bench.run();
  REQUIRE(bench.list_versions() == Strings{"0", "5"});
  REQUIRE(bench.sleeper.slept().size() == 1);
}

TEST_CASE("reflector: a relist finds what was deleted unseen", "[runtime]") {
  Bench bench;
  bench.server.will_list({pod("a", "3"), pod("b", "4")}, "5");
  bench.server.will_watch({error_event(410, "Expired")});
  bench.server.will_list({pod("a", "3")}, "9");
  bench.run();
  REQUIRE(bench.deltas() == Strings{"=a@3", "=a@3", "=b@4", "-b@4"});
  REQUIRE(bench.store.get("ns/b") == nullptr);
}

TEST_CASE("reflector: a bookmark advances the version and nothing else", "[runtime]") {
  Bench bench;
  bench.server.will_list({pod("a", "3")}, "5");
  bench.server.will_watch({bookmark("90"), closed()});
  bench.server.will_watch({{closed(), 5min}});
  bench.run();
  REQUIRE(bench.watch_versions() == Strings{"5", "90"});
  REQUIRE(bench.deltas() == Strings{"=a@3"});
}

TEST_CASE("reflector: a bookmark without a version, or with an old one, is skipped", "[runtime]") {
  Bench bench;
  bench.server.will_list({}, "50");
  bench.server.will_watch({bookmark(""), bookmark("9"),
                           fakes::event(WatchEventType::Bookmark, Json(nullptr)), closed()});
  bench.server.will_watch({{closed(), 5min}});
  bench.run();
  REQUIRE(bench.watch_versions() == Strings{"50", "50"});
}

TEST_CASE("reflector: objects that make no sense are logged and skipped", "[runtime]") {
  Bench bench(ReflectorOptions{"Pod", drop_managed_fields, 500, {}});
  Json node = pod("node", "6");
  node["kind"] = "Node";
  bench.server.will_list({pod("a", "3"), Json(5), Json::object()}, "5");
  bench.server.will_watch({fakes::event(WatchEventType::Added, node),
                           fakes::event(WatchEventType::Modified, Json(nullptr)), added("b", "7")});
  bench.run();
  REQUIRE(bench.deltas() == Strings{"=a@3", "+b@7"});
  REQUIRE(bench.log.mention("unexpected kind Node"));
  REQUIRE(bench.server.watches.size() == 1);
}

TEST_CASE("reflector: the transform runs before the queue; one that throws skips", "[runtime]") {
  const auto transform = [](Json& object) {
    if (base::text_of(base::find(object, "metadata", "name")) == "bad") {
      throw std::runtime_error("no such thing");
    }
    object["trimmed"] = true;
  };
  Bench bench(ReflectorOptions{"", transform, 500, {}});
  bench.server.will_list({pod("a", "3"), pod("bad", "3")}, "5");
  bench.server.will_watch({added("b", "6"), added("bad", "7")});
  bench.run();
  REQUIRE(bench.deltas() == Strings{"=a@3", "+b@6"});
  for (const ObjectPtr& each : bench.store.list()) {
    REQUIRE(each->json.find("\"trimmed\":true") != std::string::npos);
  }
}

TEST_CASE("reflector: a list older than what was seen is refused", "[runtime]") {
  Bench bench;
  bench.server.will_list({pod("a", "3")}, "5");
  bench.server.will_watch({modified("a", "100"), error_event(500, "InternalError")});
  bench.server.will_list({pod("a", "3")}, "99");  // A stale replica.
  bench.server.will_list({pod("a", "100")}, "101");
  bench.run();
  REQUIRE(bench.list_versions() == Strings{"0", "100", ""});
  REQUIRE(bench.deltas() == Strings{"=a@3", "~a@100", "=a@100"});
  REQUIRE(bench.sleeper.slept().size() == 2);
}

TEST_CASE("reflector: a watch from no version advances only after the first objects", "[runtime]") {
  Bench bench;
  bench.server.will_list({}, "");
  bench.server.will_watch({added("b", "9"), added("a", "3"), closed()});
  bench.server.will_watch({added("b", "9"), modified("a", "10"), closed()});
  bench.server.will_watch({{closed(), 5min}});
  bench.run();
  REQUIRE(bench.watch_versions() == Strings{"", "", "10"});
}

TEST_CASE("reflector: each failure leads to its state", "[runtime]") {
  Bench bench;
  bench.server.will_list(fakes::error(ErrorCode::Internal));
  bench.server.will_list({}, "5");
  bench.server.will_refuse_watch(ErrorCode::Unavailable);
  bench.server.will_watch({error_event(410, "Expired")});
  std::vector<State> states;
  for (int count = 0; count < 8; ++count) {
    states.push_back(bench.reflector.state());
    bench.reflector.step(bench.stop.get_token());
  }
  REQUIRE(states == std::vector<State>{State::List, State::BackOffThenList, State::List,
                                       State::Connect, State::BackOffThenConnect, State::Connect,
                                       State::Stream, State::List});
}

TEST_CASE("reflector: a stop interrupts the backoff at once", "[runtime]") {
  Bench bench;
  bench.server.will_list(fakes::error(ErrorCode::Unavailable));
  bench.server.will_list({}, "5");
  bench.sleeper.on_sleep = [&] { bench.stop.request_stop(); };
  bench.run();
  REQUIRE(bench.server.lists.size() == 1);
}

TEST_CASE("sleeper: the real one ends at a stop", "[runtime][threads]") {
  SteadySleeper sleeper;
  bool whole = true;
  {
    std::jthread thread([&](const std::stop_token& stop) { whole = sleeper.sleep(24h, stop); });
    thread.request_stop();
  }
  REQUIRE_FALSE(whole);
  REQUIRE(sleeper.sleep(1ms, {}));
}

}  // namespace
}  // namespace injector::runtime
