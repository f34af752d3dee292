// Initializer mode: gives waiting Pods that ask for the sidecar one, and lets all of them go. Holds
// no state: every write is for the version it was made from, so no Pod is initialized twice, and
// what was not written is found again by the next list.

#pragma once

#include <stop_token>
#include <string>

#include "base/json.h"
#include "controller/initializer_plan.h"
#include "controller/patcher.h"
#include "controller/surroundings.h"
#include "runtime/controller.h"
#include "runtime/object.h"

namespace injector::controller {

class InitializerReconciler {
 public:
  /// `initializer` is the name in the InitializerConfiguration. `patcher` is not owned and outlives
  /// this.
  InitializerReconciler(Surroundings surroundings, Patcher& patcher, std::string initializer);

  /// `object` is null if it is gone. Any thread.
  [[nodiscard]] runtime::Outcome reconcile(const std::string& key, const runtime::ObjectPtr& object,
                                           const std::stop_token& stop) const;

 private:
  [[nodiscard]] runtime::Outcome write(const base::Json& pod, const InitializerPlan& plan,
                                       const std::stop_token& stop) const;
  [[nodiscard]] runtime::Outcome not_accepted(const base::Json& pod, const InitializerPlan& plan,
                                              const base::Error& error,
                                              const std::stop_token& stop) const;
  void tell(const base::Json& pod, const InitializerPlan& plan) const;

  const Surroundings surroundings_;
  Patcher& patcher_;  // Not owned.
  const std::string initializer_;
};

}  // namespace injector::controller
