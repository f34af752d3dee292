#include "controller/initializer_reconciler.h"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codec/json.h"
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

}  // namespace

InitializerReconciler::InitializerReconciler(Surroundings surroundings, Patcher& patcher,
                                             std::string initializer)
    : surroundings_(std::move(surroundings)),
      patcher_(patcher),
      initializer_(std::move(initializer)) {}

Outcome InitializerReconciler::reconcile(const std::string& key, const runtime::ObjectPtr& object,
                                         const std::stop_token& stop) {
  if (object == nullptr) {
    forget(key);
    return Outcome::done();
  }
  const auto tpl = surroundings_.current_template();
  if (tpl == nullptr) {
    return Outcome::done();  // Everything is looked at again when there is one.
  }
  const auto name_space = surroundings_.name_space(object->name_space);
  if (name_space == nullptr) {
    // It is newer than the Pod is to us. To let the Pod go now could not be made good any more.
    return Outcome::retry("its namespace is not known yet");
  }
  const auto pod = codec::read_json(object->json);
  if (!pod) {
    return Outcome::give_up(pod.error().message);
  }
  const InitializerPlan plan =
      plan_initializer(pod.value(), initializer_, {*tpl, surroundings_.policy, name_space.get()});
  if (plan.action == InitializerAction::Nothing) {
    return Outcome::done();
  }
  if (surroundings_.dry_run) {
    rehearse(key, pod.value(), plan);
    return Outcome::done();
  }
  return write(pod.value(), plan, stop);
}

Outcome InitializerReconciler::write(const base::Json& pod, const InitializerPlan& plan,
                                     const std::stop_token& stop) const {
  const runtime::ObjectReference about = reference_to(pod);
  const auto answer = patcher_.patch(about.name_space, about.name, plan.patch, stop);
  surroundings_.metrics.count_patch(result_of(answer));
  if (answer) {
    tell(pod, plan);
    return Outcome::done();
  }
  if (answer.error().code == base::ErrorCode::InvalidInput) {
    return not_accepted(pod, plan, answer.error(), stop);
  }
  return outcome_of(answer.error());
}

Outcome InitializerReconciler::not_accepted(const base::Json& pod, const InitializerPlan& plan,
                                            const base::Error& error,
                                            const std::stop_token& stop) const {
  if (plan.action == InitializerAction::Inject) {
    // The sidecar makes it an invalid Pod. Waiting would not help: its creator has to know.
    return write(pod, refuse_pod(pod, plan.reason, error.message), stop);
  }
  return Outcome::give_up(
      error.message);  // Initialized meanwhile, or failed: it is out of our hands.
}

void InitializerReconciler::tell(const base::Json& pod, const InitializerPlan& plan) const {
  const runtime::ObjectReference about = reference_to(pod);
  switch (plan.action) {
    case InitializerAction::Inject:
      surroundings_.log.info("pod injected",
                             {{"namespace", about.name_space}, {"pod", about.name}});
      surroundings_.announce(about, EventType::Normal, "Injected", "sidecar put into the Pod");
      return;
    case InitializerAction::Refuse:
      surroundings_.log.warn(
          "pod refused",
          {{"namespace", about.name_space}, {"pod", about.name}, {"why", plan.detail}});
      surroundings_.announce(about, EventType::Warning, "Refused", plan.detail);
      return;
    case InitializerAction::Release:
    case InitializerAction::Nothing:
      tell_released(about, plan);
  }
}

void InitializerReconciler::tell_released(const runtime::ObjectReference& about,
                                          const InitializerPlan& plan) const {
  surroundings_.log.debug(
      "pod released", {{"namespace", about.name_space}, {"pod", about.name}, {"why", plan.detail}});
  if (plan.reason == core::Reason::UnrecognizedValue) {
    surroundings_.announce(about, EventType::Warning, "UnrecognizedValue", plan.detail);
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
  surroundings_.dry_run(line);
}

void InitializerReconciler::forget(const std::string& key) {
  const base::MutexLock lock(mutex_);
  rehearsed_.erase(key);
}

}  // namespace injector::controller
