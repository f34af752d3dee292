#include "controller/workload_plan.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/decide.h"
#include "core/opt_in.h"
#include "core/remove.h"
#include "core/render.h"
#include "core/workload.h"
#include "patch/merge_patch.h"
#include "patch/patch_style.h"
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

std::string service_account_of(const base::Json& pod) {
  for (const char* field : {"serviceAccountName", "serviceAccount"}) {
    const std::string_view name = base::text_of(base::find(pod, "spec", field));
    if (!name.empty()) {
      return std::string(name);
    }
  }
  return "default";
}

// With the service account's secrets among its own; the hash stays, as it is the same sidecar.
core::Template with_secrets(core::Template tpl, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const auto has_it = [&](const core::Piece& secret) { return secret.name == name; };
    if (std::none_of(tpl.image_pull_secrets.begin(), tpl.image_pull_secrets.end(), has_it)) {
      tpl.image_pull_secrets.emplace_back(base::Json({{"name", name}}));
    }
  }
  return tpl;
}

// Those templates that have secrets of their own would hide the account's.
core::TemplateSet with_secrets(const PlanContext& context) {
  std::vector<core::ServedTemplate> templates = context.templates.templates();
  for (core::ServedTemplate& served : templates) {
    if (!served.tpl->image_pull_secrets.empty()) {
      served.tpl = std::make_shared<const core::Template>(
          with_secrets(*served.tpl, *context.account_secrets));
    }
  }
  return core::TemplateSet(std::move(templates), context.templates.native());
}

// What is added anyway is not hidden.
void drop_secrets_warning(std::vector<core::Warning>& warnings) {
  std::erase_if(warnings, [](const core::Warning& warning) {
    return warning.code == core::WarningCode::HidesServiceAccountSecrets;
  });
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

base::Result<base::Json> patch_to(const base::Json& pod, const Workload& workload) {
  base::Json wanted = workload.object;
  *core::pod_at(wanted, workload.path) = pod;
  return guarded_patch(workload.object, wanted);
}

// What to do if `pod` were the workload's template and `write` the way to carry it out.
base::Result<WorkloadPlan> plan_from(const base::Json& pod, const Workload& workload,
                                     const PlanContext& context, WorkloadAction write) {
  std::optional<core::TemplateSet> extended;
  if (context.account_secrets) {
    extended = with_secrets(context);
  }
  const core::TemplateSet& templates = extended ? *extended : context.templates;
  auto decision = core::decide({workload.object, workload.path, pod}, context.name_space, templates,
                               context.policy);
  if (!decision) {
    return std::move(decision).error();
  }
  core::Decision& decided = decision.value().decision;
  WorkloadPlan plan{action_of(decided, write),
                    decided.reason,
                    std::move(decided.detail),
                    std::move(decided.warnings),
                    container_names(decided.plan),
                    service_account_of(pod),
                    {}};
  if (context.account_secrets) {
    drop_secrets_warning(plan.warnings);
  }
  if (plan.action != write) {
    return plan;
  }
  auto patch = patch_to(core::patched_object(pod, decided.plan), workload);
  if (!patch) {
    return std::move(patch).error();
  }
  plan.patch = std::move(patch).value();
  return plan;
}

// What the pod template itself says against the sidecar; empty: nothing.
std::string refusal_of(const base::Json& bare, const PlanContext& context) {
  const auto facts = core::pod_facts(bare);
  if (!facts) {
    return {};
  }
  const core::OptIn asked = core::opt_in(facts.value(), nullptr, context.policy);
  if (asked.answer != core::Answer::No || asked.rule == core::Rule::Default) {
    return {};
  }
  return fmt::format(R"({} {} is "{}")", to_string(asked.rule), core::key_of(asked, context.policy),
                     asked.value);
}

base::Result<WorkloadPlan> plan_removal(const base::Json& bare, const Workload& workload,
                                        const core::Status& status, std::string why) {
  WorkloadPlan plan;
  plan.action = WorkloadAction::Remove;
  plan.reason = core::Reason::OptedOut;
  plan.detail = std::move(why);
  for (const auto* names : {&status.init_containers, &status.containers}) {
    plan.containers.insert(plan.containers.end(), names->begin(), names->end());
  }
  auto patch = patch_to(bare, workload);
  if (!patch) {
    return std::move(patch).error();
  }
  plan.patch = std::move(patch).value();
  return plan;
}

// Of a workload that has been injected.
base::Result<WorkloadPlan> plan_injected(const Workload& workload, const core::Status& status,
                                         const PlanContext& context, Rollout rollout) {
  const base::Json bare = core::without_injection(workload.pod, status, context.policy);
  if (std::string why = refusal_of(bare, context); !why.empty()) {
    return plan_removal(bare, workload, status, std::move(why));
  }
  const bool current =
      core::is_current(status, context.templates,
                       base::text_of(base::find(workload.object, "metadata", "namespace")));
  if (rollout == Rollout::WhenOutdated && !current) {
    return plan_from(bare, workload, context, WorkloadAction::Replace);
  }
  return plan_from(workload.pod, workload, context, WorkloadAction::Inject);
}

base::Result<base::Json> strategic_patch(const base::Json& original, const base::Json& wanted) {
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
  return patch;
}

base::Result<base::Json> merge_patch(const base::Json& original, const base::Json& wanted) {
  base::Json patch = patch::diff_merge_patch(original, wanted);
  const auto result = patch::apply_merge_patch(original, patch);
  if (!result || !base::same(result.value(), wanted)) {
    return base::invalid("a merge patch cannot express the change: is there a null in it?");
  }
  return patch;
}

}  // namespace

std::vector<std::string> container_names(const core::Plan& plan) {
  std::vector<std::string> names;
  core::each_added_container(plan, [&](const core::Piece& piece) { names.push_back(piece.name); });
  return names;
}

base::Result<base::Json> guarded_patch(const base::Json& original, const base::Json& wanted) {
  const auto style = patch::patch_style(base::text_of(base::find(original, "apiVersion")));
  auto patch = style == patch::PatchStyle::Strategic ? strategic_patch(original, wanted)
                                                     : merge_patch(original, wanted);
  if (patch) {
    patch.value()["metadata"]["resourceVersion"] =
        base::text_of(base::find(original, "metadata", "resourceVersion"));
  }
  return patch;
}

base::Result<WorkloadPlan> plan_workload(const base::Json& object, const PlanContext& context,
                                         Rollout rollout) {
  INJ_ASSIGN(const auto workload, open_workload(object));
  INJ_ASSIGN(const auto status, core::injection_status(workload.pod, context.policy));
  if (status) {
    return plan_injected(workload, *status, context, rollout);
  }
  return plan_from(workload.pod, workload, context, WorkloadAction::Inject);
}

}  // namespace injector::controller
