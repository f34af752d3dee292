// Workload mode: gives pod templates that ask for the sidecar one, by PATCH, and takes it out of
// those that have it and say no. It never fights:
//   - every PATCH is for the version it was made from, so nobody's change is overwritten, and a
//     second replica cannot do the same again;
//   - where the server refuses a PATCH (a Job's template cannot change), it says so once and waits
//     for another spec or another template;
//   - where another writer undid a change of ours three times, it says so once and leaves that
//     object alone for as long as the object or this process lives. The count is not stored: to
//     write it into the object would be one more change to fight about. A restart, or another
//     leader, tries three times again and says so again; that is at most three rollouts a restart.

#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/mutex.h"
#include "cluster/patcher.h"
#include "controller/reconciler_deps.h"
#include "controller/workload_plan.h"
#include "runtime/controller.h"
#include "runtime/object.h"

namespace injector::controller {

/// The names of a ServiceAccount's imagePullSecrets, asked of the server. May block; any thread.
using AccountSecrets = std::function<base::Result<std::vector<std::string>>(
    const std::string& name_space, const std::string& account, const std::stop_token& stop)>;

struct WorkloadOptions {
  Rollout rollout = Rollout::Never;
  AccountSecrets account_secrets{};  // Empty: nobody knows; Pods that lose theirs are warned of.
};

class WorkloadReconciler {
 public:
  static constexpr int kMaxUndone = 3;

  /// `patcher` is not owned and outlives this.
  WorkloadReconciler(ReconcilerDeps deps, cluster::Patcher& patcher, WorkloadOptions options);

  /// `object` is null if it is gone. Several threads, for different keys.
  [[nodiscard]] runtime::Outcome reconcile(const std::string& key, const runtime::ObjectPtr& object,
                                           const std::stop_token& stop) INJ_EXCLUDES(mutex_);

 private:
  // What we did to an object, so as not to do it again for nothing.
  struct Memory {
    std::string uid;
    std::string written;  // What we wrote last (see goal_of); empty: nothing, or it was undone.
    std::string written_from;  // The version it replaced: while that is all we see, we are behind.
    int undone = 0;            // How often somebody undid what we wrote.
    std::string refused;       // The attempt (see attempt_of) that the server will never accept.
    std::set<std::string> told;  // Warnings since all was well, not to be repeated.
  };

  // One object in the course of one reconcile.
  struct Case {
    const base::Json& object;
    const core::TemplateSet& templates;
    Memory& memory;
  };

  [[nodiscard]] Memory recall(const std::string& key, const std::string& uid) const
      INJ_EXCLUDES(mutex_);
  void remember(const std::string& key, Memory memory) INJ_EXCLUDES(mutex_);
  void forget(const std::string& key) INJ_EXCLUDES(mutex_);

  [[nodiscard]] runtime::Outcome decide(const Case& subject, const std::stop_token& stop) const;
  [[nodiscard]] runtime::Outcome write(const Case& subject, const WorkloadPlan& plan,
                                       const std::stop_token& stop) const;
  [[nodiscard]] bool worth_writing(const Case& subject, const WorkloadPlan& plan) const;
  [[nodiscard]] base::Result<WorkloadPlan> with_account_secrets(const Case& subject,
                                                                const WorkloadPlan& plan,
                                                                const std::stop_token& stop) const;
  [[nodiscard]] runtime::Outcome written(const Case& subject, const WorkloadPlan& plan) const;
  [[nodiscard]] runtime::Outcome failed(const Case& subject, const WorkloadPlan& plan,
                                        const base::Error& error) const;
  [[nodiscard]] base::Result<WorkloadPlan> make_plan(
      const Case& subject, std::optional<std::vector<std::string>> account_secrets = {}) const;
  void announce_written(const runtime::ObjectReference& about, const WorkloadPlan& plan,
                        const std::string& containers) const;
  void warn_once(const Case& subject, const std::string& reason, const std::string& message) const;
  void tell_warnings_once(const Case& subject, const WorkloadPlan& plan) const;
  /// False: it was told of this object before.
  [[nodiscard]] static bool is_news(const Case& subject, const std::string& reason,
                                    const std::string& message);

  const ReconcilerDeps deps_;
  cluster::Patcher& patcher_;  // Not owned.
  const WorkloadOptions options_;

  mutable base::Mutex mutex_;
  std::map<std::string, Memory> memories_ INJ_GUARDED_BY(mutex_);  // By key, of what exists.
};

}  // namespace injector::controller
