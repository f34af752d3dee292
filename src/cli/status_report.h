// status: how the Pods of a cluster stand to the template, and which workloads ask for the sidecar
// in a way that does nothing. Pure; any thread.

#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "core/pod_facts.h"
#include "core/pod_state.h"
#include "core/policy.h"
#include "core/template_set.h"

namespace injector::cli {

struct StatusRow {
  std::string name_space;
  std::string name;
  std::string owner;          // "deployment/web"; of a Pod that nobody made, "pod/web".
  std::string template_hash;  // What it was injected from; empty: nothing.
  core::PodState state = core::PodState::NotAsked;
};

struct StatusReport {
  std::string template_source;  // What the Pods were compared with: the first line.
  std::vector<StatusRow> rows;
  std::vector<std::string> warnings;  // "deployment/web in namespace shop: MisplacedKey: ..."

  [[nodiscard]] int count(core::PodState state) const;
};

/// Adds a Pod as the API server has it. One that has ended or is being deleted, or that makes no
/// sense, is left out. `name_space` is null where nothing is known of its Namespace.
void add_pod(const base::Json& pod, const core::MetaFacts* name_space,
             const core::TemplateSet& templates, const core::Policy& policy, StatusReport& report);

/// Adds what is odd about how a workload asks: a key on its own metadata, a misspelt one, a value
/// that is neither yes nor no.
void add_workload(const base::Json& workload, const core::MetaFacts* name_space,
                  const core::TemplateSet& templates, const core::Policy& policy,
                  StatusReport& report);

/// By namespace and name.
void sort_rows(StatusReport& report);

}  // namespace injector::cli
