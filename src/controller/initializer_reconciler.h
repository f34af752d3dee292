// Initializer mode: gives waiting Pods that ask for the sidecar one, and lets all of them go. Every
// write is for the version it was made from, so no Pod is initialized twice, and what was not
// written is found again by the next list: there is nothing to remember.
//
// An injection that the server will never accept (validation, quota, an admission plugin) becomes a
// refusal with the server's words, so that the creator does not wait for nothing.
//
// A dry run sends nothing, as API servers of that age do not know what a dry run is and would
// write. The Pods go on waiting, and so do their creators, until an initializer runs that is in
// earnest.

#pragma once

#include <map>
#include <stop_token>
#include <string>

#include "base/json.h"
#include "base/mutex.h"
#include "cluster/patcher.h"
#include "controller/initializer_plan.h"
#include "controller/reconciler_deps.h"
#include "runtime/controller.h"
#include "runtime/object.h"

namespace injector::controller {

class InitializerReconciler {
 public:
  /// `initializer` is the name in the InitializerConfiguration. `patcher` is not owned and outlives
  /// this.
  InitializerReconciler(ReconcilerDeps deps, cluster::Patcher& patcher, std::string initializer);

  /// `object` is null if it is gone. Any thread.
  [[nodiscard]] runtime::Outcome reconcile(const std::string& key, const runtime::ObjectPtr& object,
                                           const std::stop_token& stop) INJ_EXCLUDES(mutex_);

 private:
  [[nodiscard]] InitializerPlan plan_for(const base::Json& pod,
                                         const core::MetaFacts& name_space) const;
  [[nodiscard]] runtime::Outcome write(const base::Json& pod, const InitializerPlan& plan,
                                       const std::stop_token& stop) const;
  [[nodiscard]] runtime::Outcome not_accepted(const base::Json& pod, const InitializerPlan& plan,
                                              const base::Error& error,
                                              const std::stop_token& stop) const;
  void tell(const base::Json& pod, const InitializerPlan& plan) const;
  void rehearse(const std::string& key, const base::Json& pod, const InitializerPlan& plan)
      INJ_EXCLUDES(mutex_);
  void forget(const std::string& key) INJ_EXCLUDES(mutex_);

  const ReconcilerDeps deps_;
  cluster::Patcher& patcher_;  // Not owned.
  const std::string initializer_;

  base::Mutex mutex_;
  std::map<std::string, std::string> rehearsed_
      INJ_GUARDED_BY(mutex_);  // Lines of a dry run, by key, of what exists.
};

}  // namespace injector::controller
