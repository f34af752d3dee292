// What the local commands uninject and lint can do with a cluster: their flags and their wiring.

#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/cluster.h"
#include "core/policy.h"
#include "template/parser.h"

namespace injector::app {

/// uninject --live deployment/web
struct LiveUninjectFlags {
  std::vector<std::string> objects{};
  bool dry_run = false;
  ClusterFlags cluster{};

  /// After -f was added, which is not required any more: one of the two is, see problem().
  void add_to(CLI::App& command);

  [[nodiscard]] bool asked() const { return !objects.empty(); }

  /// What is wrong with the command line; empty: nothing.
  [[nodiscard]] std::string problem(const CLI::App& command) const;

  [[nodiscard]] int run(const core::Policy& policy) const;
};

/// lint --server
struct ServerLintFlags {
  bool server = false;
  ClusterFlags cluster{};

  void add_to(CLI::App& command);

  /// Lints, and with --server asks the API server about what the linter accepts.
  [[nodiscard]] int run(const std::vector<std::string>& files,
                        const templates::TemplateOptions& options) const;
};

}  // namespace injector::app
