#include "controller/workload_reconciler.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/json_text.h"
#include "controller/write_result.h"

namespace injector::controller {
namespace {

using runtime::EventType;
using runtime::Outcome;

std::string version_of(const base::Json& object) {
  return std::string(base::text_of(base::find(object, "metadata", "resourceVersion")));
}

// What the write brings about: the sidecar of a template, or none.
std::string goal_of(const WorkloadPlan& plan, const core::TemplateSet& templates) {
  return plan.action == WorkloadAction::Remove ? "no sidecar" : templates.fingerprint();
}

// Another spec or another goal is another attempt; a new status is not.
std::string attempt_of(const base::Json& object, const std::string& goal) {
  const base::Json* generation = base::find(object, "metadata", "generation");
  const std::string spec = generation == nullptr ? version_of(object) : base::to_text(*generation);
  return spec + " " + goal;
}

const char* verb_of(WorkloadAction action) {
  switch (action) {
    case WorkloadAction::Remove:
      return "uninject";
    case WorkloadAction::Replace:
      return "replace";
    case WorkloadAction::Inject:
    case WorkloadAction::Refuse:
    case WorkloadAction::Nothing:
      break;
  }
  return "inject";
}

bool hides_account_secrets(const WorkloadPlan& plan) {
  return std::any_of(plan.warnings.begin(), plan.warnings.end(), [](const core::Warning& warning) {
    return warning.code == core::WarningCode::HidesServiceAccountSecrets;
  });
}

}  // namespace

WorkloadReconciler::WorkloadReconciler(ReconcilerDeps deps, cluster::Patcher& patcher,
                                       WorkloadOptions options)
    : deps_(std::move(deps)),
      patcher_(patcher),
      options_(options) {}

Outcome WorkloadReconciler::reconcile(const std::string& key, const runtime::ObjectPtr& object,
                                      const std::stop_token& stop) {
  if (object == nullptr) {
    forget(key);
    return Outcome::done();
  }
  const auto templates = deps_.current_templates();
  if (templates == nullptr) {
    return Outcome::done();  // Everything is looked at again when there is one.
  }
  const auto json = base::read_json(object->json);
  if (!json) {
    return Outcome::give_up(json.error().message);
  }
  Memory memory = recall(key, object->uid);
  Outcome outcome = decide({json.value(), *templates, memory}, stop);
  remember(key, std::move(memory));
  return outcome;
}

base::Result<WorkloadPlan> WorkloadReconciler::make_plan(
    const Case& subject, std::optional<std::vector<std::string>> account_secrets) const {
  const auto name_space =
      deps_.name_space(base::text_of(base::find(subject.object, "metadata", "namespace")));
  return plan_workload(
      subject.object,
      {subject.templates, deps_.policy, name_space.get(), std::move(account_secrets)},
      options_.rollout);
}

Outcome WorkloadReconciler::decide(const Case& subject, const std::stop_token& stop) const {
  const auto planned = make_plan(subject);
  if (!planned) {
    warn_once(subject, "NotInjected", planned.error().message);
    return Outcome::done();
  }
  switch (planned.value().action) {
    case WorkloadAction::Inject:
    case WorkloadAction::Replace:
    case WorkloadAction::Remove:
      return write(subject, planned.value(), stop);
    case WorkloadAction::Refuse:
      warn_once(subject, "Refused", planned.value().detail);
      return Outcome::done();
    case WorkloadAction::Nothing:
      break;
  }
  if (planned.value().warnings.empty()) {
    subject.memory.told.clear();  // All is well: the next mistake is a new one.
  }
  tell_warnings_once(subject, planned.value());
  return Outcome::done();
}

Outcome WorkloadReconciler::write(const Case& subject, const WorkloadPlan& plan,
                                  const std::stop_token& stop) const {
  if (!worth_writing(subject, plan)) {
    return Outcome::done();
  }
  const auto whole = with_account_secrets(subject, plan, stop);
  if (!whole) {
    return outcome_of(whole.error());
  }
  tell_warnings_once(subject, whole.value());
  const runtime::ObjectReference about = reference_to(subject.object);
  const auto answer = patcher_.patch(about.name_space, about.name, whole.value().patch, stop);
  return answer ? written(subject, whole.value()) : failed(subject, plan, answer.error());
}

// The plan anew, with the service account's imagePullSecrets where it would hide them. Where they
// cannot be had, the plan stays, and with it the warning.
base::Result<WorkloadPlan> WorkloadReconciler::with_account_secrets(
    const Case& subject, const WorkloadPlan& plan, const std::stop_token& stop) const {
  if (!options_.account_secrets || !hides_account_secrets(plan)) {
    return plan;
  }
  auto secrets =
      options_.account_secrets(reference_to(subject.object).name_space, plan.service_account, stop);
  if (secrets) {
    return make_plan(subject, std::move(secrets).value());
  }
  const base::ErrorCode code = secrets.error().code;
  if (code == base::ErrorCode::NotFound || code == base::ErrorCode::Forbidden) {
    return plan;
  }
  return base::annotate(std::move(secrets).error(), "read service account");
}

bool WorkloadReconciler::worth_writing(const Case& subject, const WorkloadPlan& plan) const {
  Memory& memory = subject.memory;
  const std::string goal = goal_of(plan, subject.templates);
  if (memory.written_from == version_of(subject.object) ||
      memory.refused == attempt_of(subject.object, goal)) {
    return false;
  }
  if (deps_.dry_run) {
    return memory.written != goal;
  }
  if (memory.written == goal) {
    ++memory.undone;
    memory.written.clear();  // A retry of this write is not another time.
    if (memory.undone == kMaxUndone) {
      deps_.metrics.count_contested();
    }
  }
  if (memory.undone < kMaxUndone) {
    return true;
  }
  warn_once(subject, "Contested",
            fmt::format("another writer {} {} times; leaving this object alone",
                        plan.action == WorkloadAction::Remove ? "put the sidecar back"
                                                              : "took the sidecar out",
                        kMaxUndone));
  return false;
}

Outcome WorkloadReconciler::written(const Case& subject, const WorkloadPlan& plan) const {
  subject.memory.written = goal_of(plan, subject.templates);
  subject.memory.written_from = version_of(subject.object);
  const std::string containers = fmt::format("{}", fmt::join(plan.containers, ", "));
  const runtime::ObjectReference about = reference_to(subject.object);
  if (deps_.dry_run) {
    deps_.dry_run(dry_run_line(about, verb_of(plan.action), containers));
    return Outcome::done();
  }
  deps_.metrics.count_patch(WriteResult::Done);
  deps_.log.info("pod template patched", {{"object", describe(about)},
                                          {"action", verb_of(plan.action)},
                                          {"containers", containers},
                                          {"template", subject.templates.fingerprint()}});
  announce_written(about, plan, containers);
  return Outcome::done();
}

void WorkloadReconciler::announce_written(const runtime::ObjectReference& about,
                                          const WorkloadPlan& plan,
                                          const std::string& containers) const {
  if (plan.action == WorkloadAction::Remove) {
    deps_.announce(
        about, EventType::Normal, "Uninjected",
        fmt::format("sidecar {} taken out of the pod template: {}", containers, plan.detail));
    return;
  }
  deps_.announce(about, EventType::Normal, "Injected",
                 fmt::format("sidecar {} put into the pod template", containers));
}

Outcome WorkloadReconciler::failed(const Case& subject, const WorkloadPlan& plan,
                                   const base::Error& error) const {
  deps_.metrics.count_patch(result_of(error));
  if (error.code != base::ErrorCode::InvalidInput) {
    return outcome_of(error);
  }
  subject.memory.refused = attempt_of(subject.object, goal_of(plan, subject.templates));
  warn_once(subject, plan.action == WorkloadAction::Remove ? "NotUninjected" : "NotInjected",
            error.message);
  return Outcome::done();
}

bool WorkloadReconciler::is_news(const Case& subject, const std::string& reason,
                                 const std::string& message) {
  return subject.memory.told.insert(reason + ": " + message).second;
}

void WorkloadReconciler::warn_once(const Case& subject, const std::string& reason,
                                   const std::string& message) const {
  if (!is_news(subject, reason, message)) {
    return;
  }
  const runtime::ObjectReference about = reference_to(subject.object);
  deps_.log.warn("pod template left alone",
                 {{"object", describe(about)}, {"reason", reason}, {"why", message}});
  deps_.announce(about, EventType::Warning, reason, message);
}

void WorkloadReconciler::tell_warnings_once(const Case& subject, const WorkloadPlan& plan) const {
  std::vector<core::Warning> news = plan.warnings;
  std::erase_if(news, [&](const core::Warning& warning) {
    return !is_news(subject, std::string(to_string(warning.code)), warning.message);
  });
  tell_warnings(deps_, reference_to(subject.object), news);
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
