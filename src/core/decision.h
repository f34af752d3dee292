// What injection decided for one Pod. Skipping and refusing are normal answers, so they are data.

#pragma once

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
};

/// Which rule of the opt-in answered; the first that has an answer wins, in this order.
enum class Rule {
  PodAnnotation,
  PodLabel,
  NamespaceAnnotation,
  NamespaceLabel,
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

/// What to add to this Pod. The pieces belong to the Template the decision was made with.
struct Plan {
  std::vector<const Piece*> containers;
  std::vector<const Piece*> init_containers;
  std::vector<const Piece*> volumes;             // Without those the Pod has already.
  std::vector<const Piece*> image_pull_secrets;  // Likewise.
  StringMap labels;                              // Only where the Pod has no such key.
  StringMap annotations;                         // Likewise; the status annotation comes last.
};

struct Decision {
  Outcome outcome = Outcome::Skip;
  Reason reason = Reason::NotRequested;
  Rule rule = Rule::Default;
  std::string detail;  // One sentence for a person: what was found, and where.
  std::vector<Warning> warnings;
  Plan plan;  // Empty unless the outcome is Inject.
};

}  // namespace injector::core
