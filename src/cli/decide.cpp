#include "cli/decide.h"

#include <utility>

#include <fmt/format.h>

#include "core/decide.h"
#include "core/opt_in.h"

namespace injector::cli {
namespace {

using base::Json;
using Decided = std::optional<DecidedObject>;

constexpr const char* kDefaultNamespace = "default";

const core::MetaFacts* namespace_of(const Json& object, const DecisionContext& context) {
  const std::string_view name = base::text_of(base::find(object, "metadata", "namespace"));
  const auto found = context.namespaces.find(name.empty() ? kDefaultNamespace : std::string(name));
  return found == context.namespaces.end() ? nullptr : &found->second;
}

bool is_absent(const Json* value) {
  return value == nullptr || value->is_null();
}

// The part that a whole workload has and this one leaves out; empty: none.
std::string missing_part(const Json* pod, std::string_view path) {
  const std::string dot = path.empty() ? "" : ".";
  if (is_absent(pod)) {
    return std::string(path);
  }
  const Json* spec = base::find(*pod, "spec");
  if (is_absent(spec)) {
    return pod->is_object() ? fmt::format("{}{}spec", path, dot) : "";
  }
  const bool partial = spec->is_object() && is_absent(base::find(*spec, "containers"));
  return partial ? fmt::format("{}{}spec.containers", path, dot) : "";
}

// Whether the metadata of something that is no whole Pod wants the sidecar.
bool asks(const Json* pod, const core::MetaFacts* name_space, core::Policy policy) {
  policy.inject_by_default = false;
  if (pod == nullptr || !pod->is_object()) {
    return false;
  }
  const core::MetaFacts meta = core::meta_facts(*pod);
  core::PodFacts facts;
  facts.labels = meta.labels;
  facts.annotations = meta.annotations;
  return core::opt_in(facts, name_space, policy).answer == core::Answer::Yes;
}

DecidedObject left_alone(std::string detail, bool asked) {
  DecidedObject decided;
  decided.decision.reason = core::Reason::NotAPod;
  decided.decision.detail = std::move(detail);
  decided.asked_in_vain = asked;
  return decided;
}

Decided decide_other(const Json& object, const DecisionContext& context,
                     const core::Policy& policy) {
  const core::OtherTemplate other = core::other_template(object);
  if (other.pod == nullptr) {
    return std::nullopt;
  }
  return left_alone(
      fmt::format("there is a pod template at {}, a place that we do not handle", other.dotted),
      asks(other.pod, namespace_of(object, context), policy));
}

}  // namespace

base::Result<Decided> decide_object(const Json& object, const DecisionContext& context) {
  return decide_object(object, context, context.policy);
}

base::Result<Decided> decide_object(const Json& object, const DecisionContext& context,
                                    const core::Policy& policy) {
  const auto path = core::pod_path(object);
  if (!path) {
    return decide_other(object, context, policy);
  }
  const core::MetaFacts* name_space = namespace_of(object, context);
  const Json* pod = core::pod_at(object, *path);
  if (const std::string missing = missing_part(pod, path->dotted); !missing.empty()) {
    return Decided(
        left_alone(fmt::format("a partial object: no {}", missing), asks(pod, nullptr, policy)));
  }
  INJ_ASSIGN(auto decided,
             core::decide({object, *path, *pod}, name_space, context.templates, policy));
  return Decided(DecidedObject{*path, std::move(decided.facts), std::move(decided.decision)});
}

}  // namespace injector::cli
