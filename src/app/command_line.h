// The command line: each command adds its flags and, when chosen, its work. Only this folder knows
// CLI11.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/log.h"
#include "base/result.h"
#include "cli/streams.h"
#include "core/policy.h"
#include "core/template_set.h"
#include "template/files.h"
#include "template/parser.h"

namespace injector::app {

/// What the chosen command does; the result is the exit code.
using Work = std::function<int()>;

/// The parsed command line; set by the command's callback.
struct Chosen {
  Work work;
};

/// Flags of the decision, the same for every command that decides.
struct PolicyFlags {
  core::Policy policy;
  std::string on_conflict = "reject";

  void add_to(CLI::App& command);
  [[nodiscard]] core::Policy get() const;
};

/// Where a command's template comes from, for commands without a cluster.
struct TemplateFlags {
  std::vector<std::string> config;
  std::string kube_version;
  templates::TemplateOptions options;

  void add_to(CLI::App& command);

  /// Of --kube-version; native where it is not given.
  [[nodiscard]] core::NativeSidecars native() const;

  /// The files' templates, or the built-in one.
  [[nodiscard]] base::Result<core::TemplateSet> load() const;
};

/// A flag's value such as 1.29.
[[nodiscard]] CLI::Validator kube_version_check();

struct LogFlags {
  std::string format = "text";
  std::string level = "info";

  void add_to(CLI::App& command);
  [[nodiscard]] base::Logger get() const;
};

/// The process's own streams, with colour as the terminal and NO_COLOR say.
[[nodiscard]] cli::Streams process_streams();

/// Says what went wrong on standard error; returns the exit code of a failure.
int fail(const base::Error& error);

/// Says what is wrong with the command line; returns the exit code of bad usage.
int usage_error(const base::Error& error);

/// -o, --no-headers and --sort-by, as kubectl has them, for commands that list.
void add_list_flags(CLI::App& command, std::string& output, bool& no_headers, std::string& sort_by);

/// "30s", "500ms", "2m", "1h": a flag's value. CLI11 reports what is none of these.
[[nodiscard]] CLI::Validator duration_check();
[[nodiscard]] std::chrono::milliseconds parse_duration(const std::string& text);

void add_local_commands(CLI::App& app, Chosen& chosen);      // inject, uninject, lint, patch
void add_explain_command(CLI::App& app, Chosen& chosen);     // explain
void add_controller_command(CLI::App& app, Chosen& chosen);  // controller
void add_webhook_command(CLI::App& app, Chosen& chosen);     // webhook
void add_status_command(CLI::App& app, Chosen& chosen);      // status
void add_check_command(CLI::App& app, Chosen& chosen);       // check
void add_dashboard_command(CLI::App& app, Chosen& chosen);   // dashboard
void add_certs_command(CLI::App& app, Chosen& chosen);       // certs
void add_completion_command(CLI::App& app, Chosen& chosen);  // completion

/// __complete WORD...: what the shells' scripts ask. The application has all its commands.
int run_complete(const CLI::App& application, const std::vector<std::string>& words);

}  // namespace injector::app
