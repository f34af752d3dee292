#include "core/decision.h"

#include <fmt/format.h>

namespace injector::core {

std::string_view to_string(Outcome outcome) noexcept {
  switch (outcome) {
    case Outcome::Inject:
      return "inject";
    case Outcome::Skip:
      return "skip";
    case Outcome::Refuse:
      return "refuse";
  }
  return "";
}

std::string_view to_string(Reason reason) noexcept {
  switch (reason) {
    case Reason::Injected:
      return "Injected";
    case Reason::NotRequested:
      return "NotRequested";
    case Reason::OptedOut:
      return "OptedOut";
    case Reason::UnrecognizedValue:
      return "UnrecognizedValue";
    case Reason::AlreadyInitialized:
      return "AlreadyInitialized";
    case Reason::HostNetwork:
      return "HostNetwork";
    case Reason::WindowsPod:
      return "WindowsPod";
    case Reason::MirrorPod:
      return "MirrorPod";
    case Reason::NotAPod:
      return "NotAPod";
    case Reason::NotCreate:
      return "NotCreate";
    case Reason::VolumeConflict:
      return "VolumeConflict";
    case Reason::UnknownTemplate:
      return "UnknownTemplate";
    case Reason::TemplateConflict:
      return "TemplateConflict";
    case Reason::OverrideNotAllowed:
      return "OverrideNotAllowed";
    case Reason::MissingValue:
      return "MissingValue";
  }
  return "";
}

std::string_view to_string(Rule rule) noexcept {
  switch (rule) {
    case Rule::PodAnnotation:
      return "pod annotation";
    case Rule::PodLabel:
      return "pod label";
    case Rule::NamespaceAnnotation:
      return "namespace annotation";
    case Rule::NamespaceLabel:
      return "namespace label";
    case Rule::Selector:
      return "template selector";
    case Rule::Default:
      return "default";
  }
  return "";
}

std::string_view to_string(WarningCode code) noexcept {
  switch (code) {
    case WarningCode::UnrecognizedValue:
      return "UnrecognizedValue";
    case WarningCode::PortConflict:
      return "PortConflict";
    case WarningCode::MisspeltKey:
      return "MisspeltKey";
    case WarningCode::MisplacedKey:
      return "MisplacedKey";
    case WarningCode::NeverCompletes:
      return "NeverCompletes";
    case WarningCode::HidesServiceAccountSecrets:
      return "HidesServiceAccountSecrets";
  }
  return "";
}

std::string to_string(const Warning& warning) {
  return fmt::format("{}: {}", to_string(warning.code), warning.message);
}

std::string joined(const std::vector<Warning>& warnings) {
  std::string text;
  for (const Warning& warning : warnings) {
    text += (text.empty() ? "" : "; ") + to_string(warning);
  }
  return text;
}

}  // namespace injector::core
