#include "controller/repair_reconciler.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/json_text.h"
#include "controller/write_result.h"
#include "core/remove.h"

namespace injector::controller {
namespace {

using core::PodState;
using runtime::EventType;
using runtime::Outcome;

constexpr double kSecondsPerMinute = 60;

bool needs_repair(PodState state) {
  return state == PodState::Missing || state == PodState::Outdated;
}

}  // namespace

RepairReconciler::RepairReconciler(ReconcilerDeps deps, const RepairTools& tools,
                                   RepairOptions options)
    : deps_(std::move(deps)),
      evictor_(tools.evictor),
      turn_store_(tools.turns),
      clock_(tools.clock),
      options_(std::move(options)),
      bucket_(options_.evictions_per_minute / kSecondsPerMinute, 1) {}

RepairReconciler::~RepairReconciler() {
  const base::MutexLock lock(mutex_);
  for (const auto& [key, seen] : seen_) {
    deps_.metrics.leave(seen.state);
  }
}

Outcome RepairReconciler::reconcile(const std::string& key, const runtime::ObjectPtr& object,
                                    const std::stop_token& stop) {
  if (object == nullptr) {
    forget(key);
    return Outcome::done();
  }
  const auto templates = deps_.current_templates();
  const auto pod = base::read_json(object->json);
  if (templates == nullptr || !pod) {
    return Outcome::done();  // Everything is looked at again when there is a template.
  }
  const auto name_space = deps_.name_space(object->name_space);
  const auto plan = plan_repair(pod.value(), {*templates, deps_.policy, name_space.get()});
  if (!plan) {
    return Outcome::give_up(plan.error().message);
  }
  const bool news = see(key, object->uid, plan.value().state);
  if (!needs_repair(plan.value().state)) {
    return Outcome::done();
  }
  if (news) {
    report(pod.value(), plan.value().state);
  }
  return evicts(plan.value().state) ? evict(pod.value(), plan.value(), *templates, stop)
                                    : Outcome::done();
}

bool RepairReconciler::evicts(PodState state) const {
  return state == PodState::Missing ? options_.evict_missing : options_.evict_outdated;
}

bool RepairReconciler::see(const std::string& key, const std::string& uid, PodState state) {
  const base::MutexLock lock(mutex_);
  const auto [found, is_new] = seen_.try_emplace(key, Seen{uid, state});
  if (is_new) {
    deps_.metrics.enter(state);
    return true;
  }
  if (found->second.uid == uid && found->second.state == state) {
    return false;
  }
  deps_.metrics.leave(found->second.state);
  deps_.metrics.enter(state);
  found->second = Seen{uid, state};
  return true;
}

void RepairReconciler::forget(const std::string& key) {
  const base::MutexLock lock(mutex_);
  const auto found = seen_.find(key);
  if (found != seen_.end()) {
    deps_.metrics.leave(found->second.state);
    seen_.erase(found);
  }
}

void RepairReconciler::report(const base::Json& pod, PodState state) const {
  const runtime::ObjectReference about = reference_to(pod);
  const bool missing = state == PodState::Missing;
  if (deps_.dry_run) {
    deps_.dry_run(dry_run_line(about, "report", core::to_string(state)));
    return;
  }
  deps_.log.warn(
      "pod needs repair",
      {{"namespace", about.name_space}, {"pod", about.name}, {"state", core::to_string(state)}});
  deps_.announce(about, EventType::Warning, missing ? "SidecarMissing" : "SidecarOutdated",
                 missing ? "the Pod asks for the sidecar and runs without it"
                         : "the Pod's sidecar comes from another template");
}

Outcome RepairReconciler::evict(const base::Json& pod, const RepairPlan& plan,
                                const core::TemplateSet& templates, const std::stop_token& stop) {
  if (plan.owner.empty()) {
    return Outcome::done();  // Nobody would make it anew.
  }
  if (const auto recalled = recall_turns(stop); !recalled) {
    return outcome_of(recalled.error());
  }
  if (!take_turn(plan.owner)) {
    return Outcome::requeue_after(kLater);
  }
  const runtime::ObjectReference about = reference_to(pod);
  const auto answer = try_evict(about, plan.owner, templates, stop);
  if (answer) {
    tell_evicted(about, plan.state);
    return Outcome::done();
  }
  if (answer.error().code != base::ErrorCode::TooManyRequests) {
    return outcome_of(answer.error());  // Nobody knows whether it was: the turn is spent.
  }
  shorten_turn(plan.owner);
  strike_out(plan.owner, stop);
  deps_.log.warn(
      "pod not evicted",
      {{"namespace", about.name_space}, {"pod", about.name}, {"why", answer.error().message}});
  return Outcome::requeue_after(kLater);
}

// TooManyRequests: not now; it was not evicted.
base::Result<void> RepairReconciler::try_evict(const runtime::ObjectReference& about,
                                               const std::string& owner,
                                               const core::TemplateSet& templates,
                                               const std::stop_token& stop) {
  auto ready = prove_webhook(about, templates, stop);
  if (ready) {
    ready = write_down(owner, stop);
  }
  if (!ready) {
    return base::Error{base::ErrorCode::TooManyRequests, ready.error().message};
  }
  auto answer = evictor_.evict(about, stop);
  deps_.metrics.count_eviction(result_of(answer));
  return answer;
}

base::Result<void> RepairReconciler::recall_turns(const std::stop_token& stop) {
  {
    const base::MutexLock lock(mutex_);
    if (recalled_ || deps_.dry_run) {
      return {};
    }
  }
  const auto stored = turn_store_.load(stop);
  if (!stored) {
    return base::annotate(stored.error(), "look up earlier evictions");
  }
  const WallTime wall = options_.wall_clock();
  const base::MutexLock lock(mutex_);
  const base::TimePoint now = clock_.now();
  for (const auto& [owner, until] : stored.value()) {
    // Whoever wrote it may have had another time of day.
    const auto left = std::min<WallTime::duration>(until - wall, kOwnerPause);
    const auto turn = now + std::chrono::duration_cast<base::Duration>(left);
    written_.insert_or_assign(owner, turn);
    if (turn > now) {
      turns_.emplace(owner, turn);
    }
  }
  recalled_ = true;
  return {};
}

base::Result<void> RepairReconciler::write_down(const std::string& owner,
                                                const std::stop_token& stop) {
  if (deps_.dry_run) {
    return {};
  }
  std::map<std::string, std::optional<WallTime>> changes;
  {
    const base::MutexLock lock(mutex_);
    const base::TimePoint now = clock_.now();
    for (const auto& [past, turn] : written_) {
      if (turn <= now) {
        changes.emplace(past, std::nullopt);
      }
    }
    std::erase_if(written_, [now](const auto& entry) { return entry.second <= now; });
    written_.insert_or_assign(owner, now + kOwnerPause);
  }
  changes.insert_or_assign(owner, options_.wall_clock() + kOwnerPause);
  auto written = turn_store_.write(changes, stop);
  return written ? std::move(written) : base::annotate(written.error(), "write the eviction down");
}

// It was written down and did not happen. If this fails, the owner waits longer than it need.
void RepairReconciler::strike_out(const std::string& owner, const std::stop_token& stop) {
  {
    const base::MutexLock lock(mutex_);
    if (written_.erase(owner) == 0) {
      return;
    }
  }
  static_cast<void>(turn_store_.write({{owner, std::nullopt}}, stop));
}

bool RepairReconciler::take_turn(const std::string& owner) {
  const base::MutexLock lock(mutex_);
  const base::TimePoint now = clock_.now();
  std::erase_if(turns_, [now](const auto& turn) { return now >= turn.second; });
  if (turns_.contains(owner) || !bucket_.try_take(now)) {
    return false;
  }
  turns_.emplace(owner, now + kOwnerPause);
  return true;
}

void RepairReconciler::shorten_turn(const std::string& owner) {
  const base::MutexLock lock(mutex_);
  turns_.insert_or_assign(owner, clock_.now() + kLater);
}

base::Result<void> RepairReconciler::prove_webhook(const runtime::ObjectReference& about,
                                                   const core::TemplateSet& templates,
                                                   const std::stop_token& stop) const {
  INJ_ASSIGN(const auto pod, evictor_.get(about.name_space, about.name, stop));
  const auto made = evictor_.dry_run_create(probe_pod(pod, deps_.policy), stop);
  if (!made) {
    return base::annotate(made.error(), "dry run");
  }
  const auto status = core::injection_status(made.value(), deps_.policy);
  if (!status || !status.value() ||
      !core::is_current(*status.value(), templates, about.name_space)) {
    return base::invalid("a Pod made now would not get the sidecar: is the webhook there?");
  }
  return {};
}

void RepairReconciler::tell_evicted(const runtime::ObjectReference& about, PodState state) {
  if (deps_.dry_run) {
    if (rehearse(about)) {
      deps_.dry_run(dry_run_line(about, "evict", core::to_string(state)));
    }
    return;
  }
  deps_.log.info("pod evicted", {{"namespace", about.name_space}, {"pod", about.name}});
  deps_.announce(about, EventType::Normal, "Evicted",
                 "evicted so that its owner makes it anew with the sidecar");
}

bool RepairReconciler::rehearse(const runtime::ObjectReference& about) {
  const base::MutexLock lock(mutex_);
  const auto found = seen_.find(about.name_space + "/" + about.name);
  return found != seen_.end() && !std::exchange(found->second.rehearsed, true);
}

}  // namespace injector::controller
