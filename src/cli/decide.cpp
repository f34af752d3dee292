#include "cli/decide.h"

#include <utility>

#include <fmt/format.h>

#include "core/inject.h"
#include "core/opt_in.h"

namespace injector::cli {
namespace {

constexpr const char* kDefaultNamespace = "default";

const core::MetaFacts* namespace_of(const base::Json& object, const DecisionContext& context) {
  const std::string_view name = base::text_of(base::find(object, "metadata", "namespace"));
  const auto found = context.namespaces.find(name.empty() ? kDefaultNamespace : std::string(name));
  return found == context.namespaces.end() ? nullptr : &found->second;
}

// A Pod made from the template will carry the workload's name and namespace, or nearly.
void borrow_identity(core::PodFacts& facts, const base::Json& workload) {
  if (facts.name.empty()) {
    facts.name = base::text_of(base::find(workload, "metadata", "name"));
  }
  if (facts.name_space.empty()) {
    facts.name_space = base::text_of(base::find(workload, "metadata", "namespace"));
  }
}

base::Error at_template(base::Error error, const core::PodPath& path) {
  if (!path.dotted.empty()) {
    error.message = fmt::format("{}.{}", path.dotted, error.message);
  }
  return error;
}

}  // namespace

base::Result<std::optional<DecidedObject>> decide_object(const base::Json& object,
                                                         const DecisionContext& context) {
  const auto path = core::pod_path(object);
  if (!path) {
    return std::optional<DecidedObject>();
  }
  const base::Json* pod = core::pod_at(object, *path);
  if (pod == nullptr) {
    return base::invalid(fmt::format("{}: missing", path->dotted));
  }
  auto facts = core::pod_facts(*pod);
  if (!facts) {
    return at_template(std::move(facts).error(), *path);
  }
  DecidedObject decided{*path, std::move(facts).value(), {}};
  borrow_identity(decided.facts, object);
  decided.decision =
      core::inject(decided.facts, namespace_of(object, context), context.tpl, context.policy);
  const bool is_workload = !path->pointer.empty();
  if (is_workload && decided.decision.reason == core::Reason::NotRequested) {
    for (core::Warning& warning :
         core::misplaced_keys(core::meta_facts(object), path->dotted, context.policy)) {
      decided.decision.warnings.push_back(std::move(warning));
    }
  }
  return std::optional<DecidedObject>(std::move(decided));
}

}  // namespace injector::cli
