#include "controller/workload_reconciler.h"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codec/json.h"
#include "controller/write_result.h"

namespace injector::controller {
namespace {

using runtime::EventType;
using runtime::Outcome;

std::string version_of(const base::Json& object) {
  return std::string(base::text_of(base::find(object, "metadata", "resourceVersion")));
}

// Another spec or another template is another attempt; a new status is not.
std::string attempt_of(const base::Json& object, const core::Template& tpl) {
  const base::Json* generation = base::find(object, "metadata", "generation");
  const std::string spec = generation == nullptr ? version_of(object) : base::to_text(*generation);
  return spec + " " + tpl.hash;
}

}  // namespace

WorkloadReconciler::WorkloadReconciler(Surroundings surroundings, Patcher& patcher,
                                       WorkloadOptions options)
    : surroundings_(std::move(surroundings)),
      patcher_(patcher),
      options_(options) {}

Outcome WorkloadReconciler::reconcile(const std::string& key, const runtime::ObjectPtr& object,
                                      const std::stop_token& stop) {
  if (object == nullptr) {
    forget(key);
    return Outcome::done();
  }
  const auto tpl = surroundings_.current_template();
  if (tpl == nullptr) {
    return Outcome::done();  // Everything is looked at again when there is one.
  }
  const auto json = codec::read_json(object->json);
  if (!json) {
    return Outcome::give_up(json.error().message);
  }
  Memory memory = recall(key, object->uid);
  Outcome outcome = decide({json.value(), *tpl, memory}, stop);
  remember(key, std::move(memory));
  return outcome;
}

Outcome WorkloadReconciler::decide(const Case& subject, const std::stop_token& stop) const {
  const auto name_space =
      surroundings_.name_space(base::text_of(base::find(subject.object, "metadata", "namespace")));
  const auto plan = plan_workload(
      subject.object, {subject.tpl, surroundings_.policy, name_space.get()}, options_.rollout);
  if (!plan) {
    warn_once(subject, "NotInjected", plan.error().message);
    return Outcome::done();
  }
  switch (plan.value().action) {
    case WorkloadAction::Inject:
    case WorkloadAction::Replace:
      return write(subject, plan.value(), stop);
    case WorkloadAction::Refuse:
      warn_once(subject, "Refused", plan.value().detail);
      return Outcome::done();
    case WorkloadAction::Nothing:
      break;
  }
  if (plan.value().reason == core::Reason::UnrecognizedValue) {
    warn_once(subject, "UnrecognizedValue", plan.value().detail);
  }
  return Outcome::done();
}

Outcome WorkloadReconciler::write(const Case& subject, const WorkloadPlan& plan,
                                  const std::stop_token& stop) const {
  if (!worth_writing(subject)) {
    return Outcome::done();
  }
  const runtime::ObjectReference about = reference_to(subject.object);
  const auto answer = patcher_.patch(about.name_space, about.name, plan.patch, stop);
  return answer ? written(subject, plan) : failed(subject, answer.error());
}

bool WorkloadReconciler::worth_writing(const Case& subject) const {
  Memory& memory = subject.memory;
  if (memory.written_from == version_of(subject.object) ||
      memory.refused == attempt_of(subject.object, subject.tpl)) {
    return false;
  }
  if (surroundings_.dry_run) {
    return memory.written_hash != subject.tpl.hash;
  }
  if (memory.written_hash == subject.tpl.hash) {
    ++memory.removals;
    memory.written_hash.clear();  // A retry of this write is not another removal.
    if (memory.removals == kMaxRemovals) {
      surroundings_.metrics.count_contested();
    }
  }
  if (memory.removals < kMaxRemovals) {
    return true;
  }
  warn_once(subject, "Contested",
            fmt::format("another writer took the sidecar out {} times; leaving this object alone",
                        kMaxRemovals));
  return false;
}

Outcome WorkloadReconciler::written(const Case& subject, const WorkloadPlan& plan) const {
  subject.memory.written_hash = subject.tpl.hash;
  subject.memory.written_from = version_of(subject.object);
  const std::string containers = fmt::format("{}", fmt::join(plan.containers, ", "));
  const char* const verb = plan.action == WorkloadAction::Replace ? "replace" : "inject";
  const runtime::ObjectReference about = reference_to(subject.object);
  if (surroundings_.dry_run) {
    surroundings_.dry_run(dry_run_line(about, verb, containers));
    return Outcome::done();
  }
  surroundings_.metrics.count_patch(WriteResult::Done);
  surroundings_.log.info("pod template patched", {{"object", describe(about)},
                                                  {"action", verb},
                                                  {"containers", containers},
                                                  {"template", subject.tpl.hash}});
  surroundings_.announce(about, EventType::Normal, "Injected",
                         fmt::format("sidecar {} put into the pod template", containers));
  return Outcome::done();
}

Outcome WorkloadReconciler::failed(const Case& subject, const base::Error& error) const {
  surroundings_.metrics.count_patch(result_of(error));
  if (error.code != base::ErrorCode::InvalidInput) {
    return outcome_of(error);
  }
  subject.memory.refused = attempt_of(subject.object, subject.tpl);
  warn_once(subject, "NotInjected", error.message);
  return Outcome::done();
}

void WorkloadReconciler::warn_once(const Case& subject, const std::string& reason,
                                   const std::string& message) const {
  std::string told = reason + ": " + message;
  if (subject.memory.told == told) {
    return;
  }
  const runtime::ObjectReference about = reference_to(subject.object);
  surroundings_.log.warn("pod template left alone",
                         {{"object", describe(about)}, {"reason", reason}, {"why", message}});
  surroundings_.announce(about, EventType::Warning, reason, message);
  subject.memory.told = std::move(told);
}

WorkloadReconciler::Memory WorkloadReconciler::recall(const std::string& key,
                                                      const std::string& uid) const {
  const base::MutexLock lock(mutex_);
  const auto found = memories_.find(key);
  if (found != memories_.end() && found->second.uid == uid) {
    return found->second;
  }
  Memory fresh;
  fresh.uid = uid;
  return fresh;
}

void WorkloadReconciler::remember(const std::string& key, Memory memory) {
  const base::MutexLock lock(mutex_);
  memories_.insert_or_assign(key, std::move(memory));
}

void WorkloadReconciler::forget(const std::string& key) {
  const base::MutexLock lock(mutex_);
  memories_.erase(key);
}

}  // namespace injector::controller
