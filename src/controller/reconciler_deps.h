// What every reconciler takes from outside besides its objects.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/log.h"
#include "controller/metrics.h"
#include "core/decision.h"
#include "core/pod_facts.h"
#include "core/policy.h"
#include "core/template_set.h"
#include "runtime/event_recorder.h"
#include "runtime/event_sink.h"

namespace injector::controller {

/// Lines for a person, each whole. Any thread.
using PrintLine = std::function<void(const std::string& line)>;

/// All functions may be called from any thread and do not block.
struct ReconcilerDeps {
  /// The templates that serve; null while there are none.
  std::function<std::shared_ptr<const core::TemplateSet>()> current_templates;
  /// Null where nothing is known of that Namespace.
  std::function<std::shared_ptr<const core::MetaFacts>(std::string_view name)> name_space;
  /// Writes an Event.
  std::function<void(const runtime::ObjectReference& about, runtime::EventType type,
                     std::string reason, std::string message)>
      announce;
  core::Policy policy;
  Metrics& metrics;  // Not owned; outlives the reconcilers.
  base::Logger log;
  /// Set for a dry run: gets the dry_run_line() of everything that would be done, once for each
  /// object and template. What reconcilers write with has to write nothing either, and so has
  /// `announce`.
  PrintLine dry_run{};
};

using runtime::reference_to;

/// "Deployment shop/web".
[[nodiscard]] std::string describe(const runtime::ObjectReference& about);

/// "Deployment shop/web: would inject (envoy)".
[[nodiscard]] std::string dry_run_line(const runtime::ObjectReference& about, std::string_view verb,
                                       std::string_view what);

/// Tells of each of the decision's warnings, in the log and by an Event with its code as reason.
/// The caller sees to it that nothing is told twice.
void tell_warnings(const ReconcilerDeps& deps, const runtime::ObjectReference& about,
                   const std::vector<core::Warning>& warnings);

}  // namespace injector::controller
