#include "controller/workload_plan.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/inject.h"
#include "core/opt_in.h"
#include "core/remove.h"
#include "core/render.h"
#include "core/workload.h"
#include "patch/schema.h"
#include "patch/strategic_merge.h"

namespace injector::controller {
namespace {

// The object and the pod template inside it.
struct Workload {
  const base::Json& object;
  core::PodPath path;
  const base::Json& pod;
};

base::Result<Workload> open_workload(const base::Json& object) {
  const auto path = core::pod_path(object);
  if (!path) {
    return base::invalid("it has no pod template");
  }
  const base::Json* pod = core::pod_at(object, *path);
  if (pod == nullptr) {
    return base::invalid(fmt::format("{}: missing", path->dotted));
  }
  return Workload{object, *path, *pod};
}

// Pods will carry the workload's name, or nearly, and its namespace.
void borrow_identity(core::PodFacts& facts, const base::Json& object) {
  facts.name = base::text_of(base::find(object, "metadata", "name"));
  facts.name_space = base::text_of(base::find(object, "metadata", "namespace"));
}

base::Result<core::Decision> decide(const base::Json& pod, const Workload& workload,
                                    const PlanContext& context) {
  auto facts = core::pod_facts(pod);
  if (!facts) {
    return base::annotate(std::move(facts).error(), workload.path.dotted);
  }
  borrow_identity(facts.value(), workload.object);
  core::Decision decision =
      core::inject(facts.value(), context.name_space, context.tpl, context.policy);
  if (decision.reason == core::Reason::NotRequested) {
    for (core::Warning& warning : core::misplaced_keys(core::meta_facts(workload.object),
                                                       workload.path.dotted, context.policy)) {
      decision.warnings.push_back(std::move(warning));
    }
  }
  return decision;
}

WorkloadAction action_of(const core::Decision& decision, WorkloadAction write) {
  switch (decision.outcome) {
    case core::Outcome::Inject:
      return write;
    case core::Outcome::Refuse:
      return WorkloadAction::Refuse;
    case core::Outcome::Skip:
      break;
  }
  return WorkloadAction::Nothing;
}

// What to do if `pod` were the workload's template and `write` the way to carry it out.
base::Result<WorkloadPlan> plan_from(base::Json pod, const Workload& workload,
                                     const PlanContext& context, WorkloadAction write) {
  auto decision = decide(pod, workload, context);
  if (!decision) {
    return std::move(decision).error();
  }
  core::Decision& decided = decision.value();
  WorkloadPlan plan{action_of(decided, write),     decided.reason,
                    std::move(decided.detail),     std::move(decided.warnings),
                    container_names(decided.plan), {}};
  if (plan.action != write) {
    return plan;
  }
  base::Json wanted = workload.object;
  *core::pod_at(wanted, workload.path) = core::patched_object(std::move(pod), decided.plan);
  auto patch = guarded_patch(workload.object, wanted);
  if (!patch) {
    return std::move(patch).error();
  }
  plan.patch = std::move(patch).value();
  return plan;
}

}  // namespace

std::vector<std::string> container_names(const core::Plan& plan) {
  std::vector<std::string> names;
  for (const auto* pieces : {&plan.init_containers, &plan.containers}) {
    for (const core::Piece* piece : *pieces) {
      names.push_back(piece->name);
    }
  }
  return names;
}

base::Result<base::Json> guarded_patch(const base::Json& original, const base::Json& wanted) {
  const std::string_view kind = base::text_of(base::find(original, "kind"));
  const patch::Schema* schema = patch::schema_for_kind(kind);
  if (schema == nullptr) {
    return base::invalid(fmt::format("no merge keys are known for a {}", kind));
  }
  auto patch = patch::two_way_merge_patch(original, wanted, *schema);
  if (!patch) {
    return base::annotate(std::move(patch).error(), "make patch");
  }
  // Lists with duplicate keys do not survive a strategic merge: better no sidecar than a lost port.
  const auto result = patch::apply_strategic(original, patch.value(), *schema);
  if (!result || !base::same(result.value(), wanted)) {
    return base::invalid(
        "a strategic merge patch cannot express the change without losing "
        "something: is there a list with duplicate names or ports?");
  }
  patch.value()["metadata"]["resourceVersion"] =
      base::text_of(base::find(original, "metadata", "resourceVersion"));
  return patch;
}

base::Result<WorkloadPlan> plan_workload(const base::Json& object, const PlanContext& context,
                                         Rollout rollout) {
  const auto workload = open_workload(object);
  if (!workload) {
    return workload.error();
  }
  const base::Json& pod = workload.value().pod;
  if (rollout == Rollout::WhenOutdated) {
    const auto status = core::injection_status(pod, context.policy);
    if (!status) {
      return status.error();
    }
    if (status.value() && status.value()->template_hash != context.tpl.hash) {
      return plan_from(core::without_injection(pod, *status.value(), context.policy),
                       workload.value(), context, WorkloadAction::Replace);
    }
  }
  return plan_from(pod, workload.value(), context, WorkloadAction::Inject);
}

}  // namespace injector::controller
