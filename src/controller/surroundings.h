// What every reconciler takes from outside besides its objects.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/log.h"
#include "controller/metrics.h"
#include "core/pod_facts.h"
#include "core/policy.h"
#include "core/template.h"
#include "runtime/event_recorder.h"
#include "runtime/event_sink.h"

namespace injector::controller {

/// All functions may be called from any thread and do not block.
struct Surroundings {
  /// The template that serves; null while there is none.
  std::function<std::shared_ptr<const core::Template>()> current_template;
  /// Null where nothing is known of that Namespace.
  std::function<std::shared_ptr<const core::MetaFacts>(std::string_view name)> name_space;
  /// Writes an Event.
  std::function<void(const runtime::ObjectReference& about, runtime::EventType type,
                     std::string reason, std::string message)>
      announce;
  core::Policy policy;
  Metrics& metrics;  // Not owned; outlives the reconcilers.
  base::Logger log;
};

using runtime::reference_to;

}  // namespace injector::controller
