// What injection decided for one Pod. Skipping and refusing are normal answers, so they are data.

#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/template.h"

namespace injector::core {

enum class Outcome { Inject, Skip, Refuse };

/// Why. The text form is stable: logs, metrics, audit annotations and `explain` print it.
enum class Reason {
  Injected,
  NotRequested,
  OptedOut,
  UnrecognizedValue,
  AlreadyInitialized,
  HostNetwork,
  WindowsPod,
  MirrorPod,
  NotAPod,
  NotCreate,
  VolumeConflict,
  UnknownTemplate,     // It asks for a template by a name that there is none of.
  TemplateConflict,    // Two of the templates it asks for do not go together.
  OverrideNotAllowed,  // It sets a field of the sidecar that its template does not leave to Pods.
  MissingValue,        // The template uses a value that this Pod does not have.
};

/// Which rule of the opt-in answered; the first that has an answer wins, in this order.
enum class Rule {
  PodAnnotation,
  PodLabel,
  NamespaceAnnotation,
  NamespaceLabel,
  Selector,  // Of a template, which matches the Pod's labels.
  Default,
};

enum class WarningCode {
  UnrecognizedValue,  // The key is right, the value is neither yes nor no.
  PortConflict,       // A sidecar and an app container listen on the same port.
  MisspeltKey,        // Nobody asked, but an annotation or label is a character or two off.
  MisplacedKey,       // Nobody asked, but the workload's own metadata has the key.
  NeverCompletes,     // A Job's Pod gets a sidecar that goes on running when the work is done.
  HidesServiceAccountSecrets,  // Its first imagePullSecrets keep the service account's out.
};

[[nodiscard]] std::string_view to_string(Outcome outcome) noexcept;
[[nodiscard]] std::string_view to_string(Reason reason) noexcept;
[[nodiscard]] std::string_view to_string(Rule rule) noexcept;
[[nodiscard]] std::string_view to_string(WarningCode code) noexcept;

struct Warning {
  WarningCode code;
  std::string message;
};

/// "PortConflict: containers ..."
[[nodiscard]] std::string to_string(const Warning& warning);

/// All of them in one line, for a log.
[[nodiscard]] std::string joined(const std::vector<Warning>& warnings);

/// A container of the Pod's own with `image: auto`, which gives way to the sidecar it overrides.
struct ReplacedContainer {
  bool init = false;      // Among the init containers.
  std::size_t index = 0;  // In its list.
  std::string json;       // As its author wrote it, for undoing.
};

/// What to add to this Pod. The pieces belong to `templates` or to `made`, which keep them alive.
struct Plan {
  std::vector<const Piece*> first_containers;       // Before the Pod's own.
  std::vector<const Piece*> first_init_containers;  // Likewise.
  std::vector<const Piece*> containers;             // Behind the Pod's own.
  std::vector<const Piece*> init_containers;        // Likewise.
  std::vector<const Piece*> volumes;                // Without those the Pod has already.
  std::vector<const Piece*> image_pull_secrets;     // Likewise.
  StringMap labels;                                 // Only where the Pod has no such key.
  StringMap annotations;                            // Likewise; the status annotation comes last.
  std::vector<ReplacedContainer> replaced;  // Taken out before the rest; by list, then index.
  std::vector<std::shared_ptr<const Template>> templates;  // Whose plan this is, in order.
  std::vector<std::shared_ptr<const Piece>> made;          // For this Pod alone.
};

/// The containers and init containers that the plan adds, in the order they run: init containers
/// before the others.
template <class Visit>
void each_added_container(const Plan& plan, Visit visit) {
  for (const auto* pieces : {&plan.first_init_containers, &plan.init_containers,
                             &plan.first_containers, &plan.containers}) {
    for (const Piece* piece : *pieces) {
      visit(*piece);
    }
  }
}

struct Decision {
  Outcome outcome = Outcome::Skip;
  Reason reason = Reason::NotRequested;
  Rule rule = Rule::Default;
  std::string detail;  // One sentence for a person: what was found, and where.
  std::vector<Warning> warnings;
  std::vector<std::string> overrides;  // What the Pod set of its sidecars: "envoy: resources".
  Plan plan;                           // Empty unless the outcome is Inject.
};

}  // namespace injector::core
