#include "core/planner.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/printable.h"
#include "core/native_sidecars.h"
#include "core/status.h"
#include "core/volume.h"

namespace injector::core {
namespace {

using base::Json;

bool keeps_running(const Json& init_container) {
  return base::text_of(base::find(init_container, "restartPolicy")) == "Always";
}

const VolumeFacts* volume_named(const PodFacts& pod, std::string_view name) {
  const auto found = std::find_if(pod.volumes.begin(), pod.volumes.end(),
                                  [&](const VolumeFacts& volume) { return volume.name == name; });
  return found == pod.volumes.end() ? nullptr : &*found;
}

const Piece* piece_named(const std::vector<const Piece*>& pieces, std::string_view name) {
  const auto found = std::find_if(pieces.begin(), pieces.end(),
                                  [&](const Piece* piece) { return piece->name == name; });
  return found == pieces.end() ? nullptr : *found;
}

bool is_shared(const VolumeFacts& theirs, const Piece& ours) {
  const Json parsed = Json::parse(theirs.json, nullptr, false);
  return !parsed.is_discarded() && same_volume(parsed, ours.json());
}

std::string pod_title(const PodFacts& pod) {
  const std::string name = base::echoed(pod.name.empty() ? pod.generate_name : pod.name);
  return pod.name_space.empty() ? name : fmt::format("{}/{}", base::echoed(pod.name_space), name);
}

PlanProblem volume_conflict(const PodFacts& pod, const Piece& volume, const Policy& policy) {
  return {
      Reason::VolumeConflict,
      fmt::format("pod {} has a volume {} that is not the sidecar's: rename it in the Pod, or set "
                  "{}: \"false\" to go without the sidecar",
                  pod_title(pod), volume.name, policy.key)};
}

PlanProblem template_conflict(const Template& one, const Template& other, std::string_view what,
                              std::string_view name) {
  return {Reason::TemplateConflict,
          fmt::format("templates {} and {} both add a {} {}{}: ask for one of them only, or rename "
                      "it in one of the templates",
                      one.name, other.name, what, name,
                      what == "volume" ? ", and not the same one" : "")};
}

PlanProblem missing_value(const Template& tpl, const base::Error& missing) {
  return {Reason::MissingValue,
          fmt::format("template {} needs ${{{}}}, and the Pod has none: set it, or give it a "
                      "default in the template, ${{{}:-...}}{}",
                      tpl.name, missing.message, missing.message,
                      missing.message == "metadata.name"
                          ? "; a Pod of a workload gets its name only later"
                          : "")};
}

// A port of a sidecar by number; 0 where it has none that can be known.
std::int64_t port_number(const Json* port, const PodFacts& pod) {
  if (port == nullptr) {
    return 0;
  }
  if (port->is_number_integer()) {
    return port->get<std::int64_t>();
  }
  const auto pattern = parse_pattern(base::text_of(port));
  const auto text = pattern && !pattern.value().empty() ? fill(pattern.value(), pod, Escaping::None)
                                                        : base::Result<std::string>(std::string());
  std::int64_t number = 0;
  if (text) {
    std::from_chars(text.value().data(), text.value().data() + text.value().size(), number);
  }
  return number;
}

const ContainerFacts* user_of(const PodFacts& pod, const Port& port) {
  const auto found = std::find_if(
      pod.containers.begin(), pod.containers.end(), [&](const ContainerFacts& container) {
        return container.override_json.empty() &&
               std::find(container.ports.begin(), container.ports.end(), port) !=
                   container.ports.end();
      });
  return found == pod.containers.end() ? nullptr : &*found;
}

}  // namespace

Planner::Planner(const PodFacts& pod, const Policy& policy, NativeSidecars native)
    : pod_(pod),
      policy_(policy),
      native_(native) {}

const Piece* Planner::keep(Piece piece) {
  plan_.made.push_back(std::make_shared<const Piece>(std::move(piece)));
  return plan_.made.back().get();
}

// The piece with this Pod's values in it; itself where it has no values.
Planner::Problem Planner::filled(const Template& tpl, const Piece& original, const Piece*& piece) {
  if (original.pattern.empty()) {
    piece = &original;
    return std::nullopt;
  }
  auto text = fill(original.pattern, pod_, Escaping::Json);
  if (!text) {
    return missing_value(tpl, text.error());
  }
  piece = keep(Piece(original.name, std::move(text).value()));
  return std::nullopt;
}

Planner::Problem Planner::add(std::vector<std::shared_ptr<const Template>> templates) {
  if (auto problem = read_overrides()) {
    return problem;
  }
  plan_.templates = std::move(templates);
  for (const auto& tpl : plan_.templates) {
    if (auto problem = add_template(*tpl)) {
      return problem;
    }
    ++added_;
  }
  return finish();
}

Planner::Problem Planner::add_template(const Template& tpl) {
  if (auto problem = add_init_containers(tpl)) {
    return problem;
  }
  if (auto problem = add_containers(tpl)) {
    return problem;
  }
  if (auto problem = add_volumes(tpl)) {
    return problem;
  }
  if (auto problem = add_entries(tpl, tpl.labels, tpl.label_patterns, pod_.labels, plan_.labels)) {
    return problem;
  }
  if (auto problem = add_entries(tpl, tpl.annotations, tpl.annotation_patterns, pod_.annotations,
                                 plan_.annotations)) {
    return problem;
  }
  add_secrets(tpl);
  return std::nullopt;
}

Planner::Problem Planner::read_overrides() {
  auto overrides = overrides_of(pod_, policy_);
  if (!overrides) {
    return PlanProblem{Reason::OverrideNotAllowed, std::move(overrides).error().message};
  }
  overrides_ = std::move(overrides).value();
  override_used_.assign(overrides_.size(), false);
  return std::nullopt;
}

Planner::Problem Planner::add_init_containers(const Template& tpl) {
  auto& into =
      tpl.position == Position::First ? plan_.first_init_containers : plan_.init_containers;
  for (const Piece& piece : tpl.init_containers) {
    if (auto problem = add_container(tpl, piece, false, into)) {
      return problem;
    }
    if (keeps_running(piece.value)) {
      warn_of_ports(piece, *into.back());
    }
  }
  return std::nullopt;
}

Planner::Problem Planner::add_containers(const Template& tpl) {
  const bool native = runs_native(tpl, native_);
  const bool first = tpl.position == Position::First;
  auto& into = native ? (first ? plan_.first_init_containers : plan_.init_containers)
                      : (first ? plan_.first_containers : plan_.containers);
  const std::vector<Piece>& pieces = native ? tpl.native_containers : tpl.containers;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (auto problem = add_container(tpl, pieces[i], native, into)) {
      return problem;
    }
    warn_of_ports(pieces[i], *into.back());
  }
  if (pod_.of_job && !native && !pieces.empty()) {
    warnings_.push_back(
        {WarningCode::NeverCompletes,
         fmt::format(
             "a Job is complete when all its containers have ended, and {} goes on running: {}",
             pieces.front().name,
             tpl.placement == Placement::Auto
                 ? "the cluster has no native sidecars (Kubernetes 1.29)"
                 : "use placement: native (Kubernetes 1.29)")});
  }
  return std::nullopt;
}

const Template* Planner::owner_of(const std::string& container) const {
  for (std::size_t i = 0; i < added_; ++i) {
    const auto& tpl = plan_.templates[i];
    for (const auto* pieces : {&tpl->containers, &tpl->init_containers}) {
      const bool has_it = std::any_of(pieces->begin(), pieces->end(),
                                      [&](const Piece& piece) { return piece.name == container; });
      if (has_it) {
        return tpl.get();
      }
    }
  }
  return nullptr;
}

Planner::Problem Planner::add_container(const Template& tpl, const Piece& original, bool native,
                                        Pieces& into) {
  if (const Template* other = owner_of(original.name)) {
    return template_conflict(*other, tpl, "container", original.name);
  }
  const Piece* piece = nullptr;
  if (auto problem = filled(tpl, original, piece)) {
    return problem;
  }
  if (!overrides_.empty()) {
    if (auto problem = override_container(tpl, original, native, piece)) {
      return problem;
    }
  }
  into.push_back(piece);
  return std::nullopt;
}

Planner::Problem Planner::override_container(const Template& tpl, const Piece& original,
                                             bool native, const Piece*& piece) {
  for (std::size_t i = 0; i < overrides_.size(); ++i) {
    const ContainerOverride& each = overrides_[i];
    if (each.name != original.name) {
      continue;
    }
    override_used_[i] = true;
    const OverrideFields fields = fields_of(each.patch, tpl.overrides);
    if (!fields.refused.empty()) {
      return PlanProblem{
          Reason::OverrideNotAllowed,
          fmt::format(
              "{} sets {}, which template {} does not leave to Pods (overrides: [{}]): take "
              "it out, or have the owner of the template add it there",
              each.where, base::echoed(fields.refused.front()), tpl.name,
              fmt::join(tpl.overrides, ", "))};
    }
    auto merged = overridden(piece->json(), each.patch);
    if (!merged) {
      return PlanProblem{Reason::OverrideNotAllowed,
                         fmt::format("{}: {}", each.where, merged.error().message)};
    }
    const Json& value = merged.value();
    piece = keep(Piece(original.name, base::to_text(native ? as_native(value) : value)));
    for (const std::string& field : fields.allowed) {
      used_overrides_.push_back(fmt::format("{}: {} (by {})", original.name, field, each.where));
    }
  }
  return std::nullopt;
}

Planner::Problem Planner::add_volumes(const Template& tpl) {
  for (const Piece& original : tpl.volumes) {
    const Piece* volume = nullptr;
    if (auto problem = filled(tpl, original, volume)) {
      return problem;
    }
    if (const VolumeFacts* theirs = volume_named(pod_, volume->name)) {
      if (!is_shared(*theirs, *volume)) {
        return volume_conflict(pod_, *volume, policy_);
      }
      continue;
    }
    const Piece* added = piece_named(plan_.volumes, volume->name);
    if (added == nullptr) {
      plan_.volumes.push_back(volume);
      continue;
    }
    if (!same_volume(added->json(), volume->json())) {
      for (const auto& other : plan_.templates) {
        const bool theirs =
            std::any_of(other->volumes.begin(), other->volumes.end(),
                        [&](const Piece& each) { return each.name == added->name; });
        if (theirs) {
          return template_conflict(*other, tpl, "volume", volume->name);
        }
      }
    }
  }
  return std::nullopt;
}

Planner::Problem Planner::add_entries(const Template& tpl, const StringMap& wanted,
                                      const std::vector<Pattern>& patterns, const StringMap& there,
                                      StringMap& into) const {
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto& [key, value] = wanted[i];
    if (find(there, key) != nullptr || find(into, key) != nullptr) {
      continue;
    }
    if (patterns.empty() || patterns[i].empty()) {
      into.emplace_back(key, value);
      continue;
    }
    auto text = fill(patterns[i], pod_, Escaping::None);
    if (!text) {
      return missing_value(tpl, text.error());
    }
    into.emplace_back(key, std::move(text).value());
  }
  return std::nullopt;
}

void Planner::add_secrets(const Template& tpl) {
  const auto& there = pod_.image_pull_secrets;
  for (const Piece& secret : tpl.image_pull_secrets) {
    const bool known = std::find(there.begin(), there.end(), secret.name) != there.end() ||
                       piece_named(plan_.image_pull_secrets, secret.name) != nullptr;
    if (!known) {
      plan_.image_pull_secrets.push_back(&secret);
    }
  }
}

// One warning for each port, however many containers of the application claim it.
void Planner::warn_of_ports(const Piece& original, const Piece& sidecar) {
  const Json* list = base::find(original.value, "ports");
  if (list == nullptr || !list->is_array()) {
    return;
  }
  for (const Json& entry : *list) {
    const std::string_view protocol = base::text_of(base::find(entry, "protocol"));
    const Port port{port_number(base::find(entry, "containerPort"), pod_),
                    std::string(protocol.empty() ? "TCP" : protocol)};
    const ContainerFacts* app = port.number == 0 ? nullptr : user_of(pod_, port);
    if (app != nullptr) {
      warnings_.push_back(
          {WarningCode::PortConflict,
           fmt::format("containers {} and {} both listen on port {}/{}: they share one network, so "
                       "one of them will not start",
                       base::echoed(app->name), sidecar.name, port.number, port.protocol)});
    }
  }
}

// The Pod's own containers that stood for a sidecar. Those of other injectors stay.
void Planner::replace_own() {
  for (const bool init : {false, true}) {
    const auto& list = init ? pod_.init_containers : pod_.containers;
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (!list[i].override_json.empty() && owner_of(list[i].name) != nullptr) {
        plan_.replaced.push_back({init, i, list[i].override_json});
      }
    }
  }
}

Planner::Problem Planner::finish() {
  for (std::size_t i = 0; i < overrides_.size(); ++i) {
    const bool from_annotation = overrides_[i].where.rfind("annotation", 0) == 0;
    if (!override_used_[i] && from_annotation) {
      return PlanProblem{Reason::OverrideNotAllowed,
                         fmt::format("{} is for a container {}, and no template that the Pod gets "
                                     "has one",
                                     overrides_[i].where, base::echoed(overrides_[i].name))};
    }
  }
  if (!overrides_.empty()) {
    replace_own();
  }
  plan_.annotations.emplace_back(policy_.status_key(), write_status(pod_, plan_));
  return std::nullopt;
}

}  // namespace injector::core
