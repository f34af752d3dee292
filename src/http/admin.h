// The admin port's pages: /healthz, /livez, /readyz, /metrics, /version. They are routes for a
// Server on plain HTTP, so slow or idle scrapers never keep a probe waiting.
//
//   Health health;
//   health.add_readiness_check("template", [&] { return templates.status(); });
//   Server admin({.name = "admin", .listen = ":8080"}, admin_routes(health, {registry},
//   "1.2.3"), nullptr, log);

#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <prometheus/collectable.h>

#include "base/mutex.h"
#include "base/result.h"
#include "http/message.h"

namespace injector::http {

/// Named checks, asked anew for every probe. Thread-safe; checks run on the asking thread, must not
/// block, and may take their own locks.
class Health {
 public:
  using Check = std::function<base::Result<void>()>;

  /// A failing check makes /readyz say 503.
  void add_readiness_check(std::string name, Check check) INJ_EXCLUDES(mutex_);

  /// Shown by /readyz?verbose, and nothing more: what somebody should mend while the last good
  /// state serves.
  void add_note(std::string name, Check check) INJ_EXCLUDES(mutex_);

  /// A failing check makes /livez and /healthz say 503, and the kubelet restart us: for what a
  /// restart cures, and nothing else.
  void add_liveness_check(std::string name, Check check) INJ_EXCLUDES(mutex_);

  /// From now on /readyz says 503 (check "shutdown"); liveness is not touched.
  void set_draining() noexcept { draining_ = true; }

  /// The page of one probe. Verbose: a line a check, `[+]name ok` or `[-]name failed: reason`.
  /// A failed probe is always verbose.
  [[nodiscard]] Reply liveness(bool verbose) const INJ_EXCLUDES(mutex_);
  [[nodiscard]] Reply readiness(bool verbose) const INJ_EXCLUDES(mutex_);

 private:
  struct NamedCheck {
    std::string name;
    Check check;
  };

  mutable base::Mutex mutex_;
  std::vector<NamedCheck> readiness_ INJ_GUARDED_BY(mutex_);
  std::vector<NamedCheck> notes_ INJ_GUARDED_BY(mutex_);
  std::vector<NamedCheck> liveness_ INJ_GUARDED_BY(mutex_);
  std::atomic<bool> draining_{false};
};

/// What /metrics shows, in order.
using Collectables = std::vector<std::shared_ptr<const prometheus::Collectable>>;

/// `health` is not owned and outlives the routes. `version` is the JSON that /version answers.
[[nodiscard]] Routes admin_routes(const Health& health, Collectables metrics, std::string version);

}  // namespace injector::http
