#include "runtime/leader_election.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
#include <prometheus/text_serializer.h>

#include "tests/runtime/fakes.h"

namespace injector::runtime {
namespace {

using namespace std::chrono_literals;
using base::ErrorCode;
using base::Result;
using Strings = std::vector<std::string>;

/// One Lease in memory, with optimistic locking and faults on demand.
class FakeLease final : public LeaseClient {
 public:
  Result<VersionedLease> get(base::Duration, const std::stop_token&) override {
    const std::lock_guard lock(mutex_);
    calls_.emplace_back("get");
    if (down) {
      return fakes::error(ErrorCode::Unavailable);
    }
    return exists_ ? Result(current_) : fakes::error(ErrorCode::NotFound);
  }

  Result<VersionedLease> create(const LeaseRecord& record, base::Duration,
                                const std::stop_token&) override {
    const std::lock_guard lock(mutex_);
    calls_.emplace_back("create");
    if (down || exists_) {
      return fakes::error(down ? ErrorCode::Unavailable : ErrorCode::AlreadyExists);
    }
    exists_ = true;
    return write(record);
  }

  Result<VersionedLease> update(const VersionedLease& lease, base::Duration timeout,
                                const std::stop_token&) override {
    const std::lock_guard lock(mutex_);
    calls_.emplace_back("update");
    longest_timeout = std::max(longest_timeout, timeout);
    if (down || !exists_) {
      return fakes::error(down ? ErrorCode::Unavailable : ErrorCode::NotFound);
    }
    if (lease.resource_version != current_.resource_version) {
      return fakes::error(ErrorCode::Conflict);
    }
    Result<VersionedLease> answer = write(lease.record);
    if (swallow_answers) {
      return fakes::error(ErrorCode::Cancelled);
    }
    return answer;
  }

  /// What another process does.
  void put(LeaseRecord record) {
    const std::lock_guard lock(mutex_);
    exists_ = true;
    static_cast<void>(write(record));
  }

  LeaseRecord record() const {
    const std::lock_guard lock(mutex_);
    return current_.record;
  }

  Strings calls() const {
    const std::lock_guard lock(mutex_);
    return calls_;
  }

  std::atomic<bool> down = false;
  std::atomic<bool> swallow_answers = false;  // Writes arrive, their answers do not.
  base::Duration longest_timeout{0};

 private:
  Result<VersionedLease> write(const LeaseRecord& record) {
    current_ = {record, std::to_string(++version_)};
    return current_;
  }

  mutable std::mutex mutex_;
  bool exists_ = false;
  VersionedLease current_;
  int version_ = 0;
  Strings calls_;
};

// Time passes only while the elector sleeps; the test acts from there, and ends the run after
// `rounds` of it.
struct Bench {
  explicit Bench(int rounds, LeaderElectionOptions options = {})
      : elector(lease, completed(std::move(options)), callbacks(),
                LoopContext{clock, sleeper, base::Logger::silent(), 5}) {
    sleeper.on_sleep = [this, rounds] {
      const int round = static_cast<int>(sleeper.slept().size());
      if (on_round) {
        on_round(round);
      }
      if (round >= rounds) {
        stop.request_stop();
      }
    };
  }

  LeaderElectionOptions completed(LeaderElectionOptions options) {
    options.name = "test";
    options.identity = "me";
    options.wall_now = [this] { return WallTime(clock.now().time_since_epoch()); };
    return options;
  }

  LeaderCallbacks callbacks() {
    return {[this](const std::stop_token& lost) {
              say("started");
              SteadySleeper().sleep(24h, lost);
              say("ended");
            },
            [this] { say("stopped"); },
            [this](const std::string& leader) { say("leader " + leader); },
            [this](const Result<void>& exchange) { (exchange ? took_part : could_not) += 1; }};
  }

  void say(const std::string& text) {
    const std::lock_guard lock(mutex);
    said.push_back(text);
  }

  bool heard(const std::string& text) {
    const std::lock_guard lock(mutex);
    return std::find(said.begin(), said.end(), text) != said.end();
  }

  void run() { elector.run(stop.get_token()); }

  int took_part = 0;  // Exchanges with the server that worked,
  int could_not = 0;  // and those that did not.

  fakes::ManualClock clock;
  fakes::InstantSleeper sleeper{clock};
  FakeLease lease;
  std::stop_source stop;
  std::function<void(int round)> on_round;
  std::mutex mutex;
  Strings said;
  LeaderElector elector;
};

LeaseRecord held_by(const std::string& holder, int renewal = 0) {
  return {holder, 15s, WallTime(), WallTime(std::chrono::seconds(renewal)), 4};
}

TEST_CASE("leader election: only sensible times are valid", "[runtime]") {
  LeaderElectionOptions options;
  options.identity = "me";
  REQUIRE(validate(options).has_value());

  SECTION("lease not longer than the deadline") {
    options.renew_deadline = 15s;
  }
  SECTION("deadline not longer than 1.2 retries") {
    options.retry_period = 9s;
  }
  SECTION("no retry period") {
    options.retry_period = 0s;
  }
  SECTION("nobody") {
    options.identity.clear();
  }
  REQUIRE_FALSE(validate(options).has_value());
}

TEST_CASE("leader election: the first candidate creates the lease and leads", "[runtime]") {
  Bench bench(1);
  bench.on_round = [&](int) {
    REQUIRE(bench.elector.is_leader());
    REQUIRE(bench.lease.record().holder == "me");
    REQUIRE(bench.lease.record().duration == 15s);
    REQUIRE(bench.lease.record().transitions == 0);
  };
  bench.run();
  REQUIRE(bench.heard("leader me"));
  REQUIRE(bench.heard("started"));
  REQUIRE_FALSE(bench.elector.is_leader());
}

TEST_CASE("leader election: a leader renews every two seconds with one call", "[runtime]") {
  Bench bench(4);
  bench.run();
  REQUIRE(bench.sleeper.slept() == std::vector<base::Duration>(4, 2s));
  // Acquired, renewed three times, released.
  REQUIRE(bench.lease.calls() == Strings{"get", "create", "update", "update", "update", "update"});
}

TEST_CASE("leader election: renewing keeps when it was acquired", "[runtime]") {
  Bench bench(3);
  WallTime acquired;
  bench.on_round = [&](int round) {
    const LeaseRecord record = bench.lease.record();
    if (round == 1) {
      acquired = record.acquired;
    } else {
      REQUIRE(record.acquired == acquired);
      REQUIRE(record.renewed > acquired);
    }
  };
  bench.run();
}

TEST_CASE("leader election: a stop releases the lease after the work ended", "[runtime]") {
  Bench bench(1);
  bench.run();
  const LeaseRecord record = bench.lease.record();
  REQUIRE(record.holder.empty());
  REQUIRE(record.duration == 1s);
  REQUIRE(bench.heard("ended"));
  REQUIRE(bench.heard("stopped"));
}

TEST_CASE("leader election: a lease need not be released", "[runtime]") {
  LeaderElectionOptions options;
  options.release_on_stop = false;
  Bench bench(1, options);
  bench.run();
  REQUIRE(bench.lease.record().holder == "me");
}

TEST_CASE("leader election: a release survives a renewal whose answer was lost", "[runtime]") {
  Bench bench(2);
  bench.on_round = [&](int round) {
    if (round == 1) {
      bench.lease.swallow_answers = true;
    } else {
      bench.lease.swallow_answers = false;
    }
  };
  bench.run();
  REQUIRE(bench.lease.record().holder.empty());
}

TEST_CASE("leader election: another's lease is waited for with jitter", "[runtime]") {
  Bench bench(20);
  int renewal = 0;
  bench.lease.put(held_by("other"));
  bench.on_round = [&](int) { bench.lease.put(held_by("other", ++renewal)); };
  bench.run();

  REQUIRE(bench.lease.record().holder == "other");
  for (const base::Duration slept : bench.sleeper.slept()) {
    REQUIRE(slept >= 2s);
    REQUIRE(slept < 4400ms);
  }
  REQUIRE(bench.said == Strings{"leader other", "stopped"});
}

TEST_CASE("leader election: expiry is judged by when we saw the record change", "[runtime]") {
  // The record's own time is long past: that must not matter.
  Bench bench(40);
  bench.lease.put(held_by("other"));
  const base::TimePoint began = bench.clock.now();
  base::TimePoint took;
  bench.on_round = [&](int) {
    if (bench.elector.is_leader()) {
      bench.stop.request_stop();
    } else {
      took = bench.clock.now();
    }
  };
  bench.run();
  REQUIRE(took - began >= 15s);
  REQUIRE(took - began < 15s + 4400ms);
  REQUIRE(bench.lease.record().transitions == 5);
  REQUIRE(bench.heard("leader other"));
  REQUIRE(bench.heard("leader me"));
}

TEST_CASE("leader election: tells whether it can take part", "[runtime]") {
  Bench bench(2);
  SECTION("a lease that another holds is no obstacle") {
    bench.lease.put({"other", 15s, {}, {}, 0});
    bench.run();
    REQUIRE(bench.took_part > 0);
    REQUIRE(bench.could_not == 0);
  }
  SECTION("a server that does not answer is") {
    bench.lease.down = true;
    bench.run();
    REQUIRE(bench.could_not > 0);
    REQUIRE(bench.took_part == 0);
  }
}

TEST_CASE("leader election: a released lease is taken at once", "[runtime]") {
  Bench bench(1);
  bench.lease.put(held_by(""));
  bench.run();
  REQUIRE(bench.heard("leader me"));
  REQUIRE(bench.lease.record().transitions == 5);
}

TEST_CASE("leader election: without an answer for ten seconds it steps down", "[runtime]") {
  Bench bench(100);
  bench.on_round = [&](int) { bench.lease.down = true; };
  const base::TimePoint began = bench.clock.now();
  bench.run();
  REQUIRE(bench.clock.now() - began == 10s);
  REQUIRE(bench.heard("stopped"));
  REQUIRE(bench.heard("ended"));
  REQUIRE(bench.lease.record().holder == "me");  // Not released: nobody answers.
}

TEST_CASE("leader election: an outage shorter than the deadline is survived", "[runtime]") {
  Bench bench(10);
  bool led_throughout = true;
  bench.on_round = [&](int round) {
    bench.lease.down = round >= 2 && round <= 4;
    led_throughout = led_throughout && bench.elector.is_leader();
  };
  bench.run();
  REQUIRE(led_throughout);
  REQUIRE(bench.lease.longest_timeout <= 10s);
}

TEST_CASE("leader election: somebody else in the record ends leading at once", "[runtime]") {
  Bench bench(100);
  bench.on_round = [&](int round) {
    if (round == 1) {
      bench.lease.put(held_by("other"));
    }
  };
  bench.run();
  REQUIRE(bench.sleeper.slept().size() == 1);
  REQUIRE(bench.lease.record().holder == "other");
  REQUIRE(bench.heard("leader other"));
  REQUIRE(bench.heard("stopped"));
}

TEST_CASE("leader election: a write by somebody who left us holder costs one read", "[runtime]") {
  Bench bench(3);
  bench.on_round = [&](int round) {
    if (round == 1) {
      bench.lease.put(bench.lease.record());  // Somebody touched it: a new version.
    }
  };
  bench.run();
  REQUIRE(bench.lease.calls() ==
          Strings{"get", "create", "update", "get", "update", "update", "update"});
}

TEST_CASE("leader election: its metric says who leads", "[runtime]") {
  prometheus::Registry registry;
  LeaderElectionOptions options;
  options.metrics = &registry;
  Bench bench(1, options);
  const auto shows = [&](const std::string& line) {
    return prometheus::TextSerializer().Serialize(registry.Collect()).find(line) !=
           std::string::npos;
  };
  REQUIRE(shows("leader_election_master_status{name=\"test\"} 0"));
  bench.on_round = [&](int) { REQUIRE(shows("leader_election_master_status{name=\"test\"} 1")); };
  bench.run();
  REQUIRE(shows("leader_election_master_status{name=\"test\"} 0"));
}

TEST_CASE("leader election: among several there is never more than one leader",
          "[runtime][threads]") {
  FakeLease lease;
  std::atomic<int> leaders = 0;
  std::atomic<int> terms = 0;
  std::atomic<bool> two_at_once = false;
  fakes::Witness witness;
  const base::SteadyClock clock;
  SteadySleeper sleeper;
  const auto candidate = [&](const std::string& identity, const std::stop_token& stop) {
    LeaderElectionOptions options;
    options.name = "test";
    options.identity = identity;
    options.retry_period = 1ms;
    std::stop_source leave;
    const std::stop_callback also(stop, [&] { leave.request_stop(); });
    LeaderElector elector(lease, options,
                          {[&](const std::stop_token& lost) {
                             two_at_once = two_at_once || leaders.fetch_add(1) != 0;
                             witness.change([&] { ++terms; });
                             leave.request_stop();  // A short term: on to the next.
                             SteadySleeper().sleep(24h, lost);
                             leaders.fetch_sub(1);
                           },
                           {},
                           {}},
                          LoopContext{clock, sleeper, base::Logger::silent(), 1});
    elector.run(leave.get_token());
  };
  {
    std::vector<std::jthread> threads;
    for (int count = 0; count < 4; ++count) {
      threads.emplace_back([&, count](const std::stop_token& stop) {
        candidate("c" + std::to_string(count), stop);
      });
    }
    REQUIRE(witness.eventually([&] { return terms == 4; }));
  }
  REQUIRE_FALSE(two_at_once);
  REQUIRE(lease.record().transitions == 3);
}

}  // namespace
}  // namespace injector::runtime
