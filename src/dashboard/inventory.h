// How every Pod of a cluster stands to the template, kept up to date change by change, so that a
// page of ten thousand Pods costs no more than its rows. What a row says is what `status` says.
//
// Every method may be called from any thread.

#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/mutex.h"
#include "cli/decide.h"
#include "core/pod_facts.h"

#include "dashboard/routes.h"

namespace injector::dashboard {

class Inventory {
 public:
  /// One Pod, or a workload whose Pods would be refused today.
  struct Row {
    std::string name_space;
    std::string kind;
    std::string name;
    std::string owner;
    std::string state;  // "injected", "outdated", "missing", "refused", "not-asked".
  };

  explicit Inventory(cli::DecisionContext context);

  /// The template and the policy that rows are compared with.
  [[nodiscard]] cli::DecisionContext context() const INJ_EXCLUDES(mutex_);

  /// Another template, or a Namespace that says something else: all rows are of the past until they
  /// are put again. `name_space` null: the Namespace is gone.
  void set_templates(core::TemplateSet templates) INJ_EXCLUDES(mutex_);
  void put_namespace(const std::string& name, const core::MetaFacts* name_space)
      INJ_EXCLUDES(mutex_);

  /// A Pod, or a workload, as the API server has it. Returns the state; empty: it is left out, as
  /// Pods are that have ended.
  std::string put_pod(const base::Json& pod) INJ_EXCLUDES(mutex_);
  void put_workload(const base::Json& workload) INJ_EXCLUDES(mutex_);
  /// The state that it had; empty: it had none.
  std::string erase(std::string_view kind, std::string_view name_space, std::string_view name)
      INJ_EXCLUDES(mutex_);

  /// {"total", "page", "pageSize", "rows", "namespaces"}
  [[nodiscard]] base::Json page(const RowQuery& query) const INJ_EXCLUDES(mutex_);

  /// {"totals", "namespaces", "warnings"}: the counting part of the overview.
  [[nodiscard]] base::Json summary() const INJ_EXCLUDES(mutex_);

 private:
  using Key = std::string;  // "namespace/name/kind": the order of the table.
  using Counts = std::map<std::string, std::size_t>;  // By state.

  [[nodiscard]] const core::MetaFacts* namespace_of(const base::Json& object) const
      INJ_REQUIRES(mutex_);
  void put(Row row) INJ_REQUIRES(mutex_);
  std::string remove(const Key& key) INJ_REQUIRES(mutex_);

  mutable base::Mutex mutex_;
  cli::DecisionContext context_ INJ_GUARDED_BY(mutex_);
  std::map<Key, Row> rows_ INJ_GUARDED_BY(mutex_);
  std::map<std::string, Counts> counts_ INJ_GUARDED_BY(mutex_);              // By namespace.
  std::map<Key, std::vector<std::string>> warnings_ INJ_GUARDED_BY(mutex_);  // Of workloads.
};

}  // namespace injector::dashboard
