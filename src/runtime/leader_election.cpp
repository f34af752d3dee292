#include "runtime/leader_election.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/check.h"
#include "runtime/backoff.h"

namespace injector::runtime {
namespace {

using base::Duration;
using base::ErrorCode;

constexpr double kJitter = 1.2;
constexpr std::chrono::seconds kReleasedDuration{1};  // The API refuses 0.

prometheus::Gauge* status_gauge(const LeaderElectionOptions& options) {
  if (options.metrics == nullptr) {
    return nullptr;
  }
  return &prometheus::BuildGauge()
              .Name("leader_election_master_status")
              .Help("1 if this process leads, 0 if not")
              .Register(*options.metrics)
              .Add({{"name", options.name}});
}

}  // namespace

base::Result<void> validate(const LeaderElectionOptions& options) {
  if (options.identity.empty()) {
    return base::invalid("leader election: identity is empty");
  }
  if (options.retry_period <= Duration(0)) {
    return base::invalid("leader election: retry period must be positive");
  }
  if (std::chrono::duration<double>(options.renew_deadline) <=
      kJitter * std::chrono::duration<double>(options.retry_period)) {
    return base::invalid("leader election: renew deadline must be over 1.2 retry periods");
  }
  if (options.lease_duration <= options.renew_deadline) {
    return base::invalid("leader election: lease duration must be over the renew deadline");
  }
  return {};
}

LeaderElector::LeaderElector(LeaseClient& client, LeaderElectionOptions options,
                             LeaderCallbacks callbacks, const LoopContext& loop_context)
    : client_(client),
      options_(std::move(options)),
      callbacks_(std::move(callbacks)),
      loop_context_(loop_context),
      status_(status_gauge(options_)),
      random_(loop_context.seed) {
  INJ_CHECK(validate(options_).has_value());
}

void LeaderElector::run(const std::stop_token& stop) {
  if (acquire(stop)) {
    lead(stop);
  } else {
    stopped_leading();
  }
}

bool LeaderElector::acquire(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const bool held = try_hold(loop_context_.clock.now() + options_.renew_deadline, stop);
    report_leader();
    if (held) {
      return true;
    }
    loop_context_.sleeper.sleep(jittered(options_.retry_period, kJitter, random_), stop);
  }
  return false;
}

void LeaderElector::lead(const std::stop_token& stop) {
  set_leading(true);
  work_while_leading(stop);
  if (options_.release_on_stop && stop.stop_requested()) {
    release();
  }
}

// Returns when the work has ended.
void LeaderElector::work_while_leading(const std::stop_token& stop) {
  const auto nothing = [](const std::stop_token&) {};
  std::jthread work(callbacks_.on_started_leading ? callbacks_.on_started_leading : nothing);
  renew_until_lost(stop);
  set_leading(false);
  work.request_stop();
  stopped_leading();
}

void LeaderElector::stopped_leading() const {
  if (callbacks_.on_stopped_leading) {
    callbacks_.on_stopped_leading();
  }
}

void LeaderElector::renew_until_lost(const std::stop_token& stop) {
  while (
      loop_context_.sleeper.sleep(std::min(options_.retry_period, left(renew_deadline())), stop)) {
    const bool held = left(renew_deadline()) > Duration(0) && try_hold(renew_deadline(), stop);
    report_leader();
    if (!held && (left(renew_deadline()) == Duration(0) || !observed_is_ours())) {
      loop_context_.log.error("lease lost", {{"name", options_.name}});
      return;
    }
  }
}

void LeaderElector::set_leading(bool leading) {
  leading_ = leading;
  if (status_ != nullptr) {
    status_->Set(leading ? 1 : 0);
  }
  loop_context_.log.info(leading ? "became leader" : "stopped leading",
                         {{"name", options_.name}, {"identity", options_.identity}});
}

base::TimePoint LeaderElector::renew_deadline() const {
  return held_at_ + options_.renew_deadline;
}

Duration LeaderElector::left(base::TimePoint deadline) const {
  const auto rest = std::chrono::duration_cast<Duration>(deadline - loop_context_.clock.now());
  return std::max(rest, Duration(0));
}

bool LeaderElector::try_hold(base::TimePoint deadline, const std::stop_token& stop) {
  const base::TimePoint begun = loop_context_.clock.now();
  const bool held = renew_unread(deadline, stop) || read_and_hold(deadline, stop);
  if (held) {
    held_at_ = begun;
  }
  return held;
}

// The usual case of a leader, one call: nobody else should have written.
bool LeaderElector::renew_unread(base::TimePoint deadline, const std::stop_token& stop) {
  if (!observed_is_ours() || !observed_is_valid()) {
    return false;
  }
  const VersionedLease lease{wanted_record(), observed_->resource_version};
  return written("renew lease", client_.update(lease, left(deadline), stop));
}

bool LeaderElector::read_and_hold(base::TimePoint deadline, const std::stop_token& stop) {
  base::Result<VersionedLease> found = client_.get(left(deadline), stop);
  if (!found && found.error().code == ErrorCode::NotFound) {
    observed_.reset();
    return written("create lease", client_.create(wanted_record(), left(deadline), stop));
  }
  if (!found) {
    return written("read lease", std::move(found));
  }
  observe(std::move(found).value());
  if (!observed_->record.holder.empty() && !observed_is_ours() && observed_is_valid()) {
    report_exchange({});
    return false;
  }
  const VersionedLease lease{wanted_record(), observed_->resource_version};
  return written("take lease", client_.update(lease, left(deadline), stop));
}

bool LeaderElector::written(const char* what, base::Result<VersionedLease> answer) {
  if (answer) {
    observe(std::move(answer).value());
    report_exchange({});
    return true;
  }
  const ErrorCode code = answer.error().code;
  if (code != ErrorCode::Cancelled && code != ErrorCode::Conflict &&
      code != ErrorCode::AlreadyExists) {
    loop_context_.log.warn(
        "lease not held",
        {{"name", options_.name}, {"doing", what}, {"error", answer.error().message}});
    report_exchange(answer.error());
  }
  return false;
}

void LeaderElector::report_exchange(const base::Result<void>& exchange) const {
  if (callbacks_.on_exchange) {
    callbacks_.on_exchange(exchange);
  }
}

void LeaderElector::release() {
  const std::stop_token never;  // We are being stopped already; the timeout bounds this.
  const base::TimePoint deadline = loop_context_.clock.now() + options_.retry_period;
  if (!observed_is_ours() || give_back(deadline, never)) {
    return;
  }
  // The write that the stop cut short may have reached the server: look again, once.
  base::Result<VersionedLease> found = client_.get(left(deadline), never);
  if (!found) {
    return;
  }
  observe(std::move(found).value());
  if (observed_is_ours()) {
    static_cast<void>(give_back(deadline, never));
  }
}

bool LeaderElector::give_back(base::TimePoint deadline, const std::stop_token& stop) {
  const WallTime now = options_.wall_now();
  const VersionedLease lease{
      LeaseRecord{{}, kReleasedDuration, now, now, observed_->record.transitions},
      observed_->resource_version};
  return written("release lease", client_.update(lease, left(deadline), stop));
}

LeaseRecord LeaderElector::wanted_record() const {
  const WallTime now = options_.wall_now();
  LeaseRecord record{options_.identity, options_.lease_duration, now, now, 0};
  if (observed_is_ours()) {
    record.acquired = observed_->record.acquired;
    record.transitions = observed_->record.transitions;
  } else if (observed_.has_value()) {
    record.transitions = observed_->record.transitions + 1;
  }
  return record;
}

bool LeaderElector::observed_is_ours() const {
  return observed_.has_value() && observed_->record.holder == options_.identity;
}

bool LeaderElector::observed_is_valid() const {
  return observed_.has_value() &&
         observed_at_ + observed_->record.duration > loop_context_.clock.now();
}

void LeaderElector::observe(VersionedLease lease) {
  if (!observed_.has_value() || observed_->record != lease.record) {
    observed_at_ = loop_context_.clock.now();
  }
  observed_ = std::move(lease);
}

void LeaderElector::report_leader() {
  if (!observed_.has_value() || observed_->record.holder.empty() ||
      observed_->record.holder == reported_) {
    return;
  }
  reported_ = observed_->record.holder;
  if (callbacks_.on_new_leader) {
    callbacks_.on_new_leader(reported_);
  }
}

}  // namespace injector::runtime
