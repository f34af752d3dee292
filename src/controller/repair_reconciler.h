// Repair mode: finds Pods that asked for the sidecar and run without it, or with an outdated one.
//   - Report: a warning Event on the Pod, once, and envoy_initializer_pods{state}.
//   - Evict: as well, has Pods of the states that it was told evicted so that their owner makes
//     them anew; only Pods that have a controller, not faster than the limit, not of one owner
//     twice within ten minutes, and only after a dry run has shown that the new Pod will come back
//     injected: while the webhook is away, evicting would change nothing and go on forever. Where
//     that is so, or a disruption budget holds, nothing was evicted, and the owner's next chance
//     comes sooner.
//
// Whose Pod was evicted when is written down before the eviction, where the next leader finds it: a
// restart makes nobody lose a second Pod.

#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>

#include "base/clock.h"
#include "base/json.h"
#include "base/mutex.h"
#include "cluster/config_map_turns.h"
#include "cluster/evictor.h"
#include "controller/reconciler_deps.h"
#include "controller/repair_plan.h"
#include "runtime/controller.h"
#include "runtime/object.h"
#include "runtime/rate_limiter.h"

namespace injector::controller {

using cluster::WallTime;

struct RepairOptions {
  bool evict_missing = false;
  bool evict_outdated = false;
  double evictions_per_minute = 6;
  std::function<WallTime()> wall_clock = std::chrono::system_clock::now;
};

/// What repair works with. None is owned; all outlive the reconciler.
struct RepairTools {
  cluster::PodEvictor& evictor;
  cluster::TurnStore& turns;
  const base::Clock& clock;
};

class RepairReconciler {
 public:
  static constexpr base::Duration kOwnerPause{600'000};  // Between two evictions of one owner.
  static constexpr base::Duration kLater{30'000};        // Until a Pod is looked at again.

  RepairReconciler(ReconcilerDeps deps, const RepairTools& tools, RepairOptions options);
  /// Takes its Pods out of the metric: the next term counts them anew.
  ~RepairReconciler();
  RepairReconciler(const RepairReconciler&) = delete;
  RepairReconciler& operator=(const RepairReconciler&) = delete;

  /// `object` is null if it is gone. Several threads, for different keys.
  [[nodiscard]] runtime::Outcome reconcile(const std::string& key, const runtime::ObjectPtr& object,
                                           const std::stop_token& stop) INJ_EXCLUDES(mutex_);

 private:
  struct Seen {
    std::string uid;
    core::PodState state = core::PodState::NotAsked;
    bool rehearsed = false;  // In a dry run: its eviction was printed.
  };

  /// True: that is news of this Pod.
  bool see(const std::string& key, const std::string& uid, core::PodState state)
      INJ_EXCLUDES(mutex_);
  void forget(const std::string& key) INJ_EXCLUDES(mutex_);
  void report(const base::Json& pod, core::PodState state) const;
  [[nodiscard]] bool evicts(core::PodState state) const;
  /// Reads what an earlier process wrote down, once.
  [[nodiscard]] base::Result<void> recall_turns(const std::stop_token& stop) INJ_EXCLUDES(mutex_);
  [[nodiscard]] base::Result<void> write_down(const std::string& owner, const std::stop_token& stop)
      INJ_EXCLUDES(mutex_);
  void strike_out(const std::string& owner, const std::stop_token& stop) INJ_EXCLUDES(mutex_);
  /// False: too soon, for this owner or at all. True: nobody else gets this owner's turn.
  [[nodiscard]] bool take_turn(const std::string& owner) INJ_EXCLUDES(mutex_);
  /// Nothing was evicted after all.
  void shorten_turn(const std::string& owner) INJ_EXCLUDES(mutex_);
  [[nodiscard]] runtime::Outcome evict(const base::Json& pod, const RepairPlan& plan,
                                       const core::TemplateSet& templates,
                                       const std::stop_token& stop) INJ_EXCLUDES(mutex_);
  [[nodiscard]] base::Result<void> try_evict(const runtime::ObjectReference& about,
                                             const std::string& owner,
                                             const core::TemplateSet& templates,
                                             const std::stop_token& stop) INJ_EXCLUDES(mutex_);
  [[nodiscard]] base::Result<void> prove_webhook(const runtime::ObjectReference& about,
                                                 const core::TemplateSet& templates,
                                                 const std::stop_token& stop) const;
  void tell_evicted(const runtime::ObjectReference& about, core::PodState state)
      INJ_EXCLUDES(mutex_);
  /// False: it was rehearsed before.
  [[nodiscard]] bool rehearse(const runtime::ObjectReference& about) INJ_EXCLUDES(mutex_);

  const ReconcilerDeps deps_;
  cluster::PodEvictor& evictor_;    // Not owned.
  cluster::TurnStore& turn_store_;  // Not owned.
  const base::Clock& clock_;        // Not owned.
  const RepairOptions options_;

  base::Mutex mutex_;
  std::map<std::string, Seen> seen_ INJ_GUARDED_BY(mutex_);  // By key, of what exists.
  // When an owner's next turn comes; only of those that wait for it.
  std::map<std::string, base::TimePoint> turns_ INJ_GUARDED_BY(mutex_);
  // What the store holds, as far as we know; it is struck out when its time has come.
  std::map<std::string, base::TimePoint> written_ INJ_GUARDED_BY(mutex_);
  bool recalled_ INJ_GUARDED_BY(mutex_) = false;
  runtime::TokenBucket bucket_ INJ_GUARDED_BY(mutex_);
};

}  // namespace injector::controller
