// Puts together what is added to one Pod, template by template. Pure; any thread.

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/decision.h"
#include "core/override.h"
#include "core/pod_facts.h"
#include "core/policy.h"
#include "core/template_set.h"

namespace injector::core {

/// Why a Pod cannot have the templates it asks for.
struct PlanProblem {
  Reason reason;
  std::string detail;
};

class Planner {
 public:
  /// `pod` and `policy` are not owned and outlive the planner.
  Planner(const PodFacts& pod, const Policy& policy, NativeSidecars native);

  /// Adds all of these, in the order in which the Pod asks for them, and then the status
  /// annotation.
  [[nodiscard]] std::optional<PlanProblem> add(
      std::vector<std::shared_ptr<const Template>> templates);

  /// After add(), once.
  [[nodiscard]] Plan take_plan() { return std::move(plan_); }

  [[nodiscard]] std::vector<std::string> take_overrides() { return std::move(used_overrides_); }

  [[nodiscard]] std::vector<Warning> take_warnings() { return std::move(warnings_); }

 private:
  using Pieces = std::vector<const Piece*>;
  using Problem = std::optional<PlanProblem>;

  [[nodiscard]] Problem add_template(const Template& tpl);
  [[nodiscard]] Problem finish();
  [[nodiscard]] Problem read_overrides();
  [[nodiscard]] Problem add_containers(const Template& tpl);
  [[nodiscard]] Problem add_init_containers(const Template& tpl);
  [[nodiscard]] Problem add_container(const Template& tpl, const Piece& piece, bool native,
                                      Pieces& into);
  [[nodiscard]] Problem override_container(const Template& tpl, const Piece& original, bool native,
                                           const Piece*& piece);
  [[nodiscard]] Problem add_volumes(const Template& tpl);
  [[nodiscard]] Problem add_entries(const Template& tpl, const StringMap& wanted,
                                    const std::vector<Pattern>& patterns, const StringMap& there,
                                    StringMap& into) const;
  void add_secrets(const Template& tpl);
  void replace_own();
  [[nodiscard]] Problem filled(const Template& tpl, const Piece& original, const Piece*& piece);
  [[nodiscard]] const Piece* keep(Piece piece);
  [[nodiscard]] const Template* owner_of(const std::string& container) const;
  void warn_of_ports(const Piece& original, const Piece& sidecar);

  const PodFacts& pod_;   // Not owned.
  const Policy& policy_;  // Not owned.
  NativeSidecars native_;
  Plan plan_;
  std::size_t added_ = 0;  // So many of the plan's templates are in it.
  std::vector<ContainerOverride> overrides_;
  std::vector<bool> override_used_;  // One for each of these.
  std::vector<std::string> used_overrides_;
  std::vector<Warning> warnings_;
};

}  // namespace injector::core
