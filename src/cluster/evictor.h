// What repair asks of an API server, and what it has to remember beyond this process. The real ones
// are cluster/rest_patcher.h and cluster/config_map_turns.h; the fast tests script their own.

#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <stop_token>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "runtime/event_sink.h"

namespace injector::cluster {

/// What repair asks of an API server. May be called from any thread.
class PodEvictor {
 public:
  virtual ~PodEvictor() = default;

  /// The Pod itself: what repair works on may be trimmed.
  [[nodiscard]] virtual base::Result<base::Json> get(const std::string& name_space,
                                                     const std::string& name,
                                                     const std::stop_token& stop) = 0;
  /// A server-side dry run: what `pod` would be after admission.
  [[nodiscard]] virtual base::Result<base::Json> dry_run_create(const base::Json& pod,
                                                                const std::stop_token& stop) = 0;
  /// TooManyRequests: a disruption budget forbids it for now.
  [[nodiscard]] virtual base::Result<void> evict(const runtime::ObjectReference& pod,
                                                 const std::stop_token& stop) = 0;
};

using WallTime = std::chrono::system_clock::time_point;

/// Remembers beyond this process until when an owner's next Pod has to wait. By the owner's uid.
/// May be called from any thread.
class TurnStore {
 public:
  virtual ~TurnStore() = default;

  [[nodiscard]] virtual base::Result<std::map<std::string, WallTime>> load(
      const std::stop_token& stop) = 0;
  /// Sets those that have a time, removes those that have none, and leaves the others alone.
  [[nodiscard]] virtual base::Result<void> write(
      const std::map<std::string, std::optional<WallTime>>& changes,
      const std::stop_token& stop) = 0;
};

}  // namespace injector::cluster
