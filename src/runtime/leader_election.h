// One leader among several processes, by a Lease on the API server:
//   - the holder renews every retry_period and steps down when it could not for renew_deadline,
//     which is before anybody else may take over (lease_duration);
//   - a candidate takes over once the record has not changed for the duration it names, measured
//     on the candidate's own clock since it first saw that record: the clocks need not agree;
//   - on stop the lease is given back, after the work under it has ended, so that the next leader
//     need not wait.

#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <stop_token>
#include <string>

#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include "base/clock.h"
#include "base/result.h"
#include "runtime/lease_client.h"
#include "runtime/loop_context.h"

namespace injector::runtime {

struct LeaderElectionOptions {
  std::string name;      // In logs and as the metric's label.
  std::string identity;  // Of this process; unique among the candidates.
  std::chrono::seconds lease_duration{15};
  base::Duration renew_deadline{10'000};
  base::Duration retry_period{2'000};
  bool release_on_stop = true;
  std::function<WallTime()> wall_now = std::chrono::system_clock::now;
  prometheus::Registry* metrics = nullptr;  // leader_election_master_status{name}; optional.
};

/// Called on the thread of run(), except on_started_leading. Must not throw. Any may be empty.
struct LeaderCallbacks {
  /// The work of the leader, on a thread of its own. Must return soon after its stop is requested:
  /// another process leads from lease_duration - renew_deadline later.
  std::function<void(const std::stop_token&)> on_started_leading;
  /// Exactly once a run(), also if we never led; the work may still be winding down.
  std::function<void()> on_stopped_leading;
  /// Somebody, maybe we, holds the lease.
  std::function<void(const std::string& identity)> on_new_leader;
  /// After every exchange with the server: whether we can take part at all. That somebody else
  /// holds the lease is no failure.
  std::function<void(const base::Result<void>& exchange)> on_exchange{};
};

/// lease_duration > renew_deadline > 1.2 retry_period > 0, and an identity.
[[nodiscard]] base::Result<void> validate(const LeaderElectionOptions& options);

class LeaderElector {
 public:
  /// `client` is not owned. Options that do not validate() are a bug.
  LeaderElector(LeaseClient& client, LeaderElectionOptions options, LeaderCallbacks callbacks,
                const LoopContext& loop_context);

  /// Waits to become leader, then leads until `stop` or until the lease is lost, and returns. Call
  /// it again to stand again. One thread.
  void run(const std::stop_token& stop);

  /// Any thread.
  [[nodiscard]] bool is_leader() const noexcept { return leading_.load(); }

 private:
  [[nodiscard]] bool acquire(const std::stop_token& stop);
  void lead(const std::stop_token& stop);
  void work_while_leading(const std::stop_token& stop);
  void stopped_leading() const;
  void renew_until_lost(const std::stop_token& stop);
  void set_leading(bool leading);

  /// When leading has to end unless the lease is renewed before.
  [[nodiscard]] base::TimePoint renew_deadline() const;
  [[nodiscard]] base::Duration left(base::TimePoint deadline) const;

  // One round against the server. True: the lease is ours now.
  [[nodiscard]] bool try_hold(base::TimePoint deadline, const std::stop_token& stop);
  [[nodiscard]] bool renew_unread(base::TimePoint deadline, const std::stop_token& stop);
  [[nodiscard]] bool read_and_hold(base::TimePoint deadline, const std::stop_token& stop);
  [[nodiscard]] bool written(const char* what, base::Result<VersionedLease> answer);
  void report_exchange(const base::Result<void>& exchange) const;
  void release();
  [[nodiscard]] bool give_back(base::TimePoint deadline, const std::stop_token& stop);

  [[nodiscard]] LeaseRecord wanted_record() const;
  [[nodiscard]] bool observed_is_ours() const;
  [[nodiscard]] bool observed_is_valid() const;
  void observe(VersionedLease lease);
  void report_leader();

  LeaseClient& client_;  // Not owned; outlives the elector.
  const LeaderElectionOptions options_;
  const LeaderCallbacks callbacks_;
  const LoopContext loop_context_;
  prometheus::Gauge* const status_;  // Null without metrics.
  std::mt19937_64 random_;
  std::atomic<bool> leading_ = false;

  base::TimePoint held_at_;                 // When the last write that gave us the lease began.
  std::optional<VersionedLease> observed_;  // The newest we know of.
  base::TimePoint observed_at_;             // When its record was first seen.
  std::string reported_;                    // The leader last told of.
};

}  // namespace injector::runtime
