#include "controller/repair_reconciler.h"

#include <utility>

#include <fmt/format.h>

#include "codec/json.h"
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

RepairReconciler::RepairReconciler(Surroundings surroundings, PodEvictor& evictor,
                                   const base::Clock& clock, RepairOptions options)
    : surroundings_(std::move(surroundings)),
      evictor_(evictor),
      clock_(clock),
      options_(options),
      bucket_(options.evictions_per_minute / kSecondsPerMinute, 1) {}

RepairReconciler::~RepairReconciler() {
  const base::MutexLock lock(mutex_);
  for (const auto& [key, seen] : seen_) {
    surroundings_.metrics.leave(seen.state);
  }
}

Outcome RepairReconciler::reconcile(const std::string& key, const runtime::ObjectPtr& object,
                                    const std::stop_token& stop) {
  if (object == nullptr) {
    forget(key);
    return Outcome::done();
  }
  const auto tpl = surroundings_.current_template();
  const auto pod = codec::read_json(object->json);
  if (tpl == nullptr || !pod) {
    return Outcome::done();  // Everything is looked at again when there is a template.
  }
  const auto name_space = surroundings_.name_space(object->name_space);
  const auto plan = plan_repair(pod.value(), {*tpl, surroundings_.policy, name_space.get()});
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
  return options_.evict ? evict(pod.value(), plan.value(), *tpl, stop) : Outcome::done();
}

bool RepairReconciler::see(const std::string& key, const std::string& uid, PodState state) {
  const base::MutexLock lock(mutex_);
  const auto [found, is_new] = seen_.try_emplace(key, Seen{uid, state});
  if (is_new) {
    surroundings_.metrics.enter(state);
    return true;
  }
  if (found->second.uid == uid && found->second.state == state) {
    return false;
  }
  surroundings_.metrics.leave(found->second.state);
  surroundings_.metrics.enter(state);
  found->second = Seen{uid, state};
  return true;
}

void RepairReconciler::forget(const std::string& key) {
  const base::MutexLock lock(mutex_);
  const auto found = seen_.find(key);
  if (found != seen_.end()) {
    surroundings_.metrics.leave(found->second.state);
    seen_.erase(found);
  }
}

void RepairReconciler::report(const base::Json& pod, PodState state) const {
  const runtime::ObjectReference about = reference_to(pod);
  const bool missing = state == PodState::Missing;
  if (surroundings_.dry_run) {
    surroundings_.dry_run(dry_run_line(about, "report", core::to_string(state)));
    return;
  }
  surroundings_.log.warn(
      "pod needs repair",
      {{"namespace", about.name_space}, {"pod", about.name}, {"state", core::to_string(state)}});
  surroundings_.announce(about, EventType::Warning, missing ? "SidecarMissing" : "SidecarOutdated",
                         missing ? "the Pod asks for the sidecar and runs without it"
                                 : "the Pod's sidecar comes from another template");
}

Outcome RepairReconciler::evict(const base::Json& pod, const RepairPlan& plan,
                                const core::Template& tpl, const std::stop_token& stop) {
  if (plan.owner.empty()) {
    return Outcome::done();  // Nobody would make it anew.
  }
  if (!take_turn(plan.owner)) {
    return Outcome::requeue_after(kLater);
  }
  const runtime::ObjectReference about = reference_to(pod);
  const auto answer = try_evict(about, tpl, stop);
  if (answer) {
    tell_evicted(about, plan.state);
    return Outcome::done();
  }
  if (answer.error().code != base::ErrorCode::TooManyRequests) {
    return outcome_of(answer.error());  // Nobody knows whether it was: the turn is spent.
  }
  shorten_turn(plan.owner);
  surroundings_.log.warn(
      "pod not evicted",
      {{"namespace", about.name_space}, {"pod", about.name}, {"why", answer.error().message}});
  return Outcome::requeue_after(kLater);
}

// TooManyRequests: not now; it was not evicted.
base::Result<void> RepairReconciler::try_evict(const runtime::ObjectReference& about,
                                               const core::Template& tpl,
                                               const std::stop_token& stop) {
  if (const auto proven = prove_webhook(about, tpl, stop); !proven) {
    return base::Error{base::ErrorCode::TooManyRequests, proven.error().message};
  }
  auto answer = evictor_.evict(about, stop);
  surroundings_.metrics.count_eviction(result_of(answer));
  return answer;
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
                                                   const core::Template& tpl,
                                                   const std::stop_token& stop) const {
  const auto pod = evictor_.get(about.name_space, about.name, stop);
  if (!pod) {
    return pod.error();
  }
  const auto made = evictor_.dry_run_create(probe_pod(pod.value(), surroundings_.policy), stop);
  if (!made) {
    return base::annotate(made.error(), "dry run");
  }
  const auto status = core::injection_status(made.value(), surroundings_.policy);
  if (!status || !status.value() || status.value()->template_hash != tpl.hash) {
    return base::invalid("a Pod made now would not get the sidecar: is the webhook there?");
  }
  return {};
}

void RepairReconciler::tell_evicted(const runtime::ObjectReference& about, PodState state) {
  if (surroundings_.dry_run) {
    if (rehearse(about)) {
      surroundings_.dry_run(dry_run_line(about, "evict", core::to_string(state)));
    }
    return;
  }
  surroundings_.log.info("pod evicted", {{"namespace", about.name_space}, {"pod", about.name}});
  surroundings_.announce(about, EventType::Normal, "Evicted",
                         "evicted so that its owner makes it anew with the sidecar");
}

bool RepairReconciler::rehearse(const runtime::ObjectReference& about) {
  const base::MutexLock lock(mutex_);
  const auto found = seen_.find(about.name_space + "/" + about.name);
  return found != seen_.end() && !std::exchange(found->second.rehearsed, true);
}

}  // namespace injector::controller
