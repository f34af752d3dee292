#include "controller/initializer_reconciler.h"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/json_text.h"
#include "controller/write_result.h"

namespace injector::controller {
namespace {

using runtime::EventType;
using runtime::Outcome;

std::string line_of(const runtime::ObjectReference& about, const InitializerPlan& plan) {
  switch (plan.action) {
    case InitializerAction::Inject:
      return dry_run_line(about, "inject", fmt::format("{}", fmt::join(plan.containers, ", ")));
    case InitializerAction::Refuse:
      return dry_run_line(about, "refuse", plan.detail);
    case InitializerAction::Release:
    case InitializerAction::Nothing:
      break;
  }
  return dry_run_line(about, "release", plan.detail);
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// Somebody else was faster. The plugin compares no versions: it says this where a 409 would be
// expected, of a Pod that has been initialized meanwhile.
bool lost_race(const base::Error& error) {
  return error.code == base::ErrorCode::InvalidInput &&
         contains(error.message, "immutable once initialization has completed");
}

// Rights can be granted while the Pod waits; what an admission plugin forbids stays forbidden.
bool lacks_a_right(const base::Error& error) {
  return contains(error.message, " cannot patch ") ||
         contains(error.message, "update to uninitialized resource denied");
}

bool never_accepted(const base::Error& error) {
  return error.code == base::ErrorCode::InvalidInput ||
         (error.code == base::ErrorCode::Forbidden && !lacks_a_right(error));
}

WriteResult meaning_of(const base::Error& error) {
  if (lost_race(error)) {
    return WriteResult::Conflict;
  }
  return never_accepted(error) ? WriteResult::Refused : result_of(error);
}

}  // namespace

InitializerReconciler::InitializerReconciler(ReconcilerDeps deps, cluster::Patcher& patcher,
                                             std::string initializer)
    : deps_(std::move(deps)),
      patcher_(patcher),
      initializer_(std::move(initializer)) {}

Outcome InitializerReconciler::reconcile(const std::string& key, const runtime::ObjectPtr& object,
                                         const std::stop_token& stop) {
  if (object == nullptr) {
    forget(key);
    return Outcome::done();
  }
  const auto name_space = deps_.name_space(object->name_space);
  if (name_space == nullptr) {
    // It is newer than the Pod is to us. To let the Pod go now could not be made good any more.
    return Outcome::retry("its namespace is not known yet");
  }
  const auto pod = base::read_json(object->json);
  if (!pod) {
    return Outcome::give_up(pod.error().message);
  }
  const InitializerPlan plan = plan_for(pod.value(), *name_space);
  if (plan.action == InitializerAction::Nothing) {
    return Outcome::done();
  }
  if (deps_.dry_run) {
    rehearse(key, pod.value(), plan);
    return Outcome::done();
  }
  return write(pod.value(), plan, stop);
}

InitializerPlan InitializerReconciler::plan_for(const base::Json& pod,
                                                const core::MetaFacts& name_space) const {
  const auto templates = deps_.current_templates();
  if (templates == nullptr) {
    // Everything is looked at again when there is one.
    return plan_without_template(pod, initializer_, deps_.policy, &name_space);
  }
  return plan_initializer(pod, initializer_, {*templates, deps_.policy, &name_space});
}

Outcome InitializerReconciler::write(const base::Json& pod, const InitializerPlan& plan,
                                     const std::stop_token& stop) const {
  const runtime::ObjectReference about = reference_to(pod);
  const auto answer = patcher_.patch(about.name_space, about.name, plan.patch, stop);
  deps_.metrics.count_patch(answer ? WriteResult::Done : meaning_of(answer.error()));
  if (answer) {
    tell(pod, plan);
    return Outcome::done();
  }
  if (lost_race(answer.error())) {
    return Outcome::done();  // The watch brings the version that won.
  }
  return not_accepted(pod, plan, answer.error(), stop);
}

Outcome InitializerReconciler::not_accepted(const base::Json& pod, const InitializerPlan& plan,
                                            const base::Error& error,
                                            const std::stop_token& stop) const {
  if (plan.action == InitializerAction::Inject && never_accepted(error)) {
    // Waiting would not help: the creator has to know.
    return write(pod, refuse_pod(pod, plan.reason, error.message), stop);
  }
  return outcome_of(error);
}

void InitializerReconciler::tell(const base::Json& pod, const InitializerPlan& plan) const {
  const runtime::ObjectReference about = reference_to(pod);
  tell_warnings(deps_, about, plan.warnings);
  switch (plan.action) {
    case InitializerAction::Inject:
      deps_.log.info("pod injected", {{"namespace", about.name_space}, {"pod", about.name}});
      deps_.announce(about, EventType::Normal, "Injected", "sidecar put into the Pod");
      return;
    case InitializerAction::Refuse:
      deps_.log.warn("pod refused",
                     {{"namespace", about.name_space}, {"pod", about.name}, {"why", plan.detail}});
      deps_.announce(about, EventType::Warning, "Refused", plan.detail);
      return;
    case InitializerAction::Release:
    case InitializerAction::Nothing:
      deps_.log.debug("pod released",
                      {{"namespace", about.name_space}, {"pod", about.name}, {"why", plan.detail}});
  }
}

void InitializerReconciler::rehearse(const std::string& key, const base::Json& pod,
                                     const InitializerPlan& plan) {
  std::string line = line_of(reference_to(pod), plan);
  {
    const base::MutexLock lock(mutex_);
    std::string& last = rehearsed_[key];
    if (last == line) {
      return;
    }
    last = line;
  }
  deps_.dry_run(line);
}

void InitializerReconciler::forget(const std::string& key) {
  const base::MutexLock lock(mutex_);
  rehearsed_.erase(key);
}

}  // namespace injector::controller
