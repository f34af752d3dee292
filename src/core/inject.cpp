#include "core/inject.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/edit_distance.h"
#include "base/printable.h"
#include "core/opt_in.h"
#include "core/planner.h"

namespace injector::core {
namespace {

using Templates = std::vector<std::shared_ptr<const Template>>;

constexpr std::string_view kMirrorAnnotation = "kubernetes.io/config.mirror";

Decision skip(Reason reason, Rule rule, std::string detail) {
  Decision decision;
  decision.reason = reason;
  decision.rule = rule;
  decision.detail = std::move(detail);
  return decision;
}

// Under the policy, a Pod that cannot have what it asks for is refused or left as it is.
Decision refusal(Reason reason, Rule rule, std::string detail, const Policy& policy) {
  Decision decision = skip(reason, rule, std::move(detail));
  decision.outcome = policy.on_conflict == OnConflict::Reject ? Outcome::Refuse : Outcome::Skip;
  return decision;
}

// A container that is the sidecar already. One with the image `auto` only stands for it.
bool has_container(const std::vector<ContainerFacts>& containers, std::string_view name) {
  return std::any_of(containers.begin(), containers.end(), [&](const ContainerFacts& container) {
    return container.name == name && container.override_json.empty();
  });
}

// The first of `pieces` that the Pod has, init container or not.
const Piece* present(const PodFacts& pod, const std::vector<Piece>& pieces) {
  for (const Piece& piece : pieces) {
    if (has_container(pod.containers, piece.name) ||
        has_container(pod.init_containers, piece.name)) {
      return &piece;
    }
  }
  return nullptr;
}

const Piece* present(const PodFacts& pod, const Template& tpl) {
  const Piece* there = present(pod, tpl.containers);
  return there != nullptr ? there : present(pod, tpl.init_containers);
}

// The templates that the Pod is to have, in order, and the first name that there is none of.
struct Wanted {
  Templates templates;
  std::string unknown;
};

void want(const ServedTemplate& served, Wanted& wanted) {
  const auto& have = wanted.templates;
  if (std::find(have.begin(), have.end(), served.tpl) == have.end()) {
    wanted.templates.push_back(served.tpl);
  }
}

void want(std::string_view name, const PodFacts& pod, const TemplateSet& templates,
          Wanted& wanted) {
  if (const ServedTemplate* served = templates.find(name, pod.name_space)) {
    want(*served, wanted);
  } else if (wanted.unknown.empty()) {
    wanted.unknown = name;
  }
}

// Whoever does not ask is compared with the default template all the same.
Wanted wanted_by(const OptIn& asked, const PodFacts& pod, const MetaFacts* name_space,
                 const TemplateSet& templates) {
  Wanted wanted;
  if (asked.names.empty() && asked.rule != Rule::Selector) {
    want(kDefaultTemplate, pod, templates, wanted);
  }
  for (const std::string& name : asked.names) {
    want(name, pod, templates, wanted);
  }
  if (asked.answer == Answer::Yes && templates.has_selectors()) {
    for (const ServedTemplate* selected : templates.selected_for(pod, name_space)) {
      want(*selected, wanted);
    }
  }
  return wanted;
}

bool has_status(const PodFacts& pod, const Policy& policy) {
  return std::any_of(pod.annotations.begin(), pod.annotations.end(),
                     [&](const auto& entry) { return policy.is_status_key(entry.first); });
}

// What shows that the Pod has its sidecar; empty if nothing does.
std::string sign_of_injection(const PodFacts& pod, const Wanted& wanted, const Policy& policy) {
  if (has_status(pod, policy)) {
    return fmt::format("annotation {} is there", policy.status_key());
  }
  for (const auto& tpl : wanted.templates) {
    if (const Piece* there = present(pod, *tpl)) {
      return fmt::format("it has a container named {}", there->name);
    }
  }
  return {};
}

Decision not_requested(const PodFacts& pod, const Policy& policy) {
  Decision decision =
      skip(Reason::NotRequested, Rule::Default, fmt::format("no annotation {}", policy.key));
  decision.warnings = misspelt_keys(pod, policy);
  return decision;
}

Decision unrecognized(const OptIn& asked, const Policy& policy) {
  Decision decision =
      skip(Reason::UnrecognizedValue, asked.rule,
           fmt::format(R"({} {} is "{}": use {})", to_string(asked.rule), key_of(asked, policy),
                       base::echoed(asked.value),
                       asked.by_templates_key ? "names of templates, separated by commas"
                                              : R"("true" or "false")"));
  decision.warnings.push_back({WarningCode::UnrecognizedValue, decision.detail});
  return decision;
}

// Everything that keeps the Pod as it is, or nothing: then it is to be injected.
std::optional<Decision> reason_to_skip(const PodFacts& pod, const OptIn& asked,
                                       const Wanted& wanted, const Policy& policy) {
  if (std::string sign = sign_of_injection(pod, wanted, policy); !sign.empty()) {
    return skip(Reason::AlreadyInitialized, asked.rule, std::move(sign));
  }
  if (asked.answer == Answer::Unclear) {
    return unrecognized(asked, policy);
  }
  if (asked.answer == Answer::No && asked.rule == Rule::Default) {
    return not_requested(pod, policy);
  }
  if (asked.answer == Answer::No) {
    return skip(Reason::OptedOut, asked.rule,
                fmt::format(R"({} {} is "{}")", to_string(asked.rule), key_of(asked, policy),
                            base::echoed(asked.value)));
  }
  if (find(pod.annotations, kMirrorAnnotation) != nullptr) {
    return skip(Reason::MirrorPod, asked.rule, "it mirrors a static Pod of a node");
  }
  if (pod.host_network) {
    return skip(Reason::HostNetwork, asked.rule,
                "spec.hostNetwork is true: the sidecar would take ports of the node");
  }
  if (pod.windows) {
    return skip(Reason::WindowsPod, asked.rule,
                "it is for Windows nodes: the sidecar runs on Linux");
  }
  return std::nullopt;
}

std::string unknown_template(const std::string& name, const PodFacts& pod,
                             const TemplateSet& templates) {
  constexpr std::size_t kListed = 20;
  std::vector<std::string> names = templates.names_for(pod.name_space);
  std::string text = fmt::format("there is no template {}", base::echoed(name));
  if (names.empty()) {
    return text + ", and no other";
  }
  const std::string meant(base::nearest(name, names));
  const std::size_t all = names.size();
  names.resize(std::min(all, kListed));
  text += fmt::format(": there {} {}", all == 1 ? "is" : "are", fmt::join(names, ", "));
  text += all > kListed ? fmt::format(" and {} more", all - kListed) : "";
  return meant.empty() ? text : text + fmt::format("; did you mean {}?", meant);
}

std::string added_names(const Plan& plan) {
  std::string names;
  for (const auto& tpl : plan.templates) {
    for (const auto* pieces : {&tpl->containers, &tpl->init_containers}) {
      for (const Piece& piece : *pieces) {
        names += names.empty() ? "" : ", ";
        names += piece.name;
      }
    }
  }
  return names;
}

}  // namespace

Decision inject(const PodFacts& pod, const MetaFacts* name_space, const TemplateSet& templates,
                const Policy& policy) {
  const OptIn asked = opt_in(pod, name_space, templates, policy);
  Wanted wanted = wanted_by(asked, pod, name_space, templates);
  if (auto skipped = reason_to_skip(pod, asked, wanted, policy)) {
    return *std::move(skipped);
  }
  if (!wanted.unknown.empty()) {
    return refusal(Reason::UnknownTemplate, asked.rule,
                   unknown_template(wanted.unknown, pod, templates), policy);
  }
  Planner planner(pod, policy, templates.native());
  if (auto problem = planner.add(std::move(wanted.templates))) {
    return refusal(problem->reason, asked.rule, std::move(problem->detail), policy);
  }
  Decision decision = skip(Reason::Injected, asked.rule, {});
  decision.outcome = Outcome::Inject;
  decision.plan = planner.take_plan();
  decision.detail = added_names(decision.plan);
  decision.warnings = planner.take_warnings();
  decision.overrides = planner.take_overrides();
  return decision;
}

Decision inject(const PodFacts& pod, const MetaFacts* name_space, const Template& tpl,
                const Policy& policy) {
  return inject(pod, name_space, TemplateSet::view_of(tpl), policy);
}

}  // namespace injector::core
