#include "core/inject.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/printable.h"
#include "core/opt_in.h"
#include "core/status.h"
#include "core/volume.h"

namespace injector::core {
namespace {

using base::Json;

constexpr std::string_view kMirrorAnnotation = "kubernetes.io/config.mirror";

Decision skip(Reason reason, Rule rule, std::string detail) {
  Decision decision;
  decision.reason = reason;
  decision.rule = rule;
  decision.detail = std::move(detail);
  return decision;
}

bool has_name(const std::vector<ContainerFacts>& containers, std::string_view name) {
  return std::any_of(containers.begin(), containers.end(),
                     [&](const ContainerFacts& container) { return container.name == name; });
}

// The first of `pieces` whose name a container of the Pod has, init container or not.
const Piece* present(const PodFacts& pod, const std::vector<Piece>& pieces) {
  for (const Piece& piece : pieces) {
    if (has_name(pod.containers, piece.name) || has_name(pod.init_containers, piece.name)) {
      return &piece;
    }
  }
  return nullptr;
}

// What shows that the Pod has its sidecar; empty if nothing does.
std::string sign_of_injection(const PodFacts& pod, const Template& tpl, const Policy& policy) {
  if (find(pod.annotations, policy.status_key()) != nullptr) {
    return fmt::format("annotation {} is there", policy.status_key());
  }
  for (const auto* pieces : {&tpl.containers, &tpl.init_containers}) {
    if (const Piece* there = present(pod, *pieces)) {
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
           fmt::format(R"({} {} is "{}": use "true" or "false")", to_string(asked.rule), policy.key,
                       base::echoed(asked.value)));
  decision.warnings.push_back({WarningCode::UnrecognizedValue, decision.detail});
  return decision;
}

// Everything that keeps the Pod as it is, or nothing: then it is to be injected.
std::optional<Decision> reason_to_skip(const PodFacts& pod, const OptIn& asked, const Template& tpl,
                                       const Policy& policy) {
  if (std::string sign = sign_of_injection(pod, tpl, policy); !sign.empty()) {
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
                fmt::format(R"({} {} is "{}")", to_string(asked.rule), policy.key,
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

const VolumeFacts* volume_named(const PodFacts& pod, std::string_view name) {
  const auto found = std::find_if(pod.volumes.begin(), pod.volumes.end(),
                                  [&](const VolumeFacts& volume) { return volume.name == name; });
  return found == pod.volumes.end() ? nullptr : &*found;
}

bool is_shared(const VolumeFacts& theirs, const Piece& ours) {
  const Json parsed = Json::parse(theirs.json, nullptr, false);
  return !parsed.is_discarded() && same_volume(parsed, ours.value);
}

std::string pod_title(const PodFacts& pod) {
  const std::string name = base::echoed(pod.name.empty() ? pod.generate_name : pod.name);
  return pod.name_space.empty() ? name : fmt::format("{}/{}", base::echoed(pod.name_space), name);
}

Decision volume_conflict(const PodFacts& pod, const Piece& volume, Rule rule,
                         const Policy& policy) {
  Decision decision = skip(
      Reason::VolumeConflict, rule,
      fmt::format("pod {} has a volume {} that is not the sidecar's: rename it in the Pod, or set "
                  "{}: \"false\" to go without the sidecar",
                  pod_title(pod), volume.name, policy.key));
  decision.outcome = policy.on_conflict == OnConflict::Reject ? Outcome::Refuse : Outcome::Skip;
  return decision;
}

const Piece* conflicting_volume(const PodFacts& pod, const Template& tpl) {
  for (const Piece& ours : tpl.volumes) {
    const VolumeFacts* theirs = volume_named(pod, ours.name);
    if (theirs != nullptr && !is_shared(*theirs, ours)) {
      return &ours;
    }
  }
  return nullptr;
}

template <class IsThere>
std::vector<const Piece*> absent_pieces(const std::vector<Piece>& pieces, IsThere is_there) {
  std::vector<const Piece*> absent;
  for (const Piece& piece : pieces) {
    if (!is_there(piece.name)) {
      absent.push_back(&piece);
    }
  }
  return absent;
}

StringMap absent_entries(const StringMap& wanted, const StringMap& there) {
  StringMap absent;
  for (const auto& entry : wanted) {
    if (find(there, entry.first) == nullptr) {
      absent.push_back(entry);
    }
  }
  return absent;
}

Plan plan_for(const PodFacts& pod, const Template& tpl, const Policy& policy) {
  const auto never = [](const std::string&) { return false; };
  Plan plan;
  plan.containers = absent_pieces(tpl.containers, never);
  plan.init_containers = absent_pieces(tpl.init_containers, never);
  plan.volumes = absent_pieces(
      tpl.volumes, [&](const std::string& name) { return volume_named(pod, name) != nullptr; });
  plan.image_pull_secrets = absent_pieces(tpl.image_pull_secrets, [&](const std::string& name) {
    const auto& there = pod.image_pull_secrets;
    return std::find(there.begin(), there.end(), name) != there.end();
  });
  plan.labels = absent_entries(tpl.labels, pod.labels);
  plan.annotations = absent_entries(tpl.annotations, pod.annotations);
  plan.annotations.emplace_back(policy.status_key(), write_status(pod, plan, tpl.hash));
  return plan;
}

// Calls `visit` with every port of the container.
template <class Visit>
void each_port(const Piece& container, Visit visit) {
  const Json* list = base::find(container.value, "ports");
  if (list == nullptr || !list->is_array()) {
    return;
  }
  for (const Json& entry : *list) {
    const Json* number = base::find(entry, "containerPort");
    const std::string_view protocol = base::text_of(base::find(entry, "protocol"));
    if (number != nullptr && number->is_number_integer()) {
      visit(Port{number->get<std::int64_t>(), std::string(protocol.empty() ? "TCP" : protocol)});
    }
  }
}

// One warning a port, however many app containers claim it.
void warn_of_port(const PodFacts& pod, const Piece& sidecar, const Port& port,
                  std::vector<Warning>& warnings) {
  const auto app = std::find_if(
      pod.containers.begin(), pod.containers.end(), [&](const ContainerFacts& container) {
        return std::find(container.ports.begin(), container.ports.end(), port) !=
               container.ports.end();
      });
  if (app != pod.containers.end()) {
    warnings.push_back(
        {WarningCode::PortConflict,
         fmt::format("containers {} and {} both listen on port {}/{}: they share one network, so "
                     "one of them will not start",
                     base::echoed(app->name), sidecar.name, port.number, port.protocol)});
  }
}

void warn_of_ports(const PodFacts& pod, const Piece& sidecar, std::vector<Warning>& warnings) {
  each_port(sidecar, [&](const Port& port) { warn_of_port(pod, sidecar, port, warnings); });
}

std::vector<Warning> port_conflicts(const PodFacts& pod, const Template& tpl) {
  std::vector<Warning> warnings;
  for (const Piece& sidecar : tpl.containers) {
    warn_of_ports(pod, sidecar, warnings);
  }
  for (const Piece& sidecar : tpl.init_containers) {
    const bool keeps_running =
        base::text_of(base::find(sidecar.value, "restartPolicy")) == "Always";
    if (keeps_running) {
      warn_of_ports(pod, sidecar, warnings);
    }
  }
  return warnings;
}

// Native sidecars are stopped when the work is done; a container among the others is waited for.
void warn_of_unending_job(const PodFacts& pod, const Template& tpl,
                          std::vector<Warning>& warnings) {
  if (!pod.of_job || tpl.containers.empty()) {
    return;
  }
  warnings.push_back(
      {WarningCode::NeverCompletes,
       fmt::format("a Job is complete when all its containers have ended, and {} goes on running: "
                   "put it under initContainers with restartPolicy: Always (Kubernetes 1.29)",
                   tpl.containers.front().name)});
}

std::string added_names(const Template& tpl) {
  std::string names;
  for (const auto* pieces : {&tpl.containers, &tpl.init_containers}) {
    for (const Piece& piece : *pieces) {
      names += (names.empty() ? "" : ", ") + piece.name;
    }
  }
  return names;
}

}  // namespace

Decision inject(const PodFacts& pod, const MetaFacts* name_space, const Template& tpl,
                const Policy& policy) {
  const OptIn asked = opt_in(pod, name_space, policy);
  if (auto skipped = reason_to_skip(pod, asked, tpl, policy)) {
    return *std::move(skipped);
  }
  if (const Piece* volume = conflicting_volume(pod, tpl)) {
    return volume_conflict(pod, *volume, asked.rule, policy);
  }
  Decision decision = skip(Reason::Injected, asked.rule, added_names(tpl));
  decision.outcome = Outcome::Inject;
  decision.warnings = port_conflicts(pod, tpl);
  warn_of_unending_job(pod, tpl, decision.warnings);
  decision.plan = plan_for(pod, tpl, policy);
  return decision;
}

}  // namespace injector::core
