#include "app/command_line.h"

#include <cstdlib>
#include <iostream>
#include <optional>
#include <unistd.h>

#include <fmt/format.h>

#include "app/flag_checks.h"
#include "cli/cluster_template.h"
#include "cli/failure.h"
#include "cli/inputs.h"
#include "core/native_sidecars.h"

namespace injector::app {
namespace {

std::optional<std::chrono::milliseconds> to_duration(const std::string& text) {
  std::size_t digits = 0;
  long long number = 0;
  try {
    number = std::stoll(text, &digits);
  } catch (const std::exception&) {
    return std::nullopt;
  }
  constexpr long long kMost = 1'000'000'000;
  if (number < 0 || number > kMost) {
    return std::nullopt;
  }
  const std::string unit = text.substr(digits);
  if (unit == "ms") {
    return std::chrono::milliseconds(number);
  }
  if (unit == "s" || (unit.empty() && number == 0)) {
    return std::chrono::seconds(number);
  }
  if (unit == "m") {
    return std::chrono::minutes(number);
  }
  if (unit == "h") {
    return std::chrono::hours(number);
  }
  return std::nullopt;
}

}  // namespace

void PolicyFlags::add_to(CLI::App& command) {
  command
      .add_option("--annotation", policy.key, "The annotation or label that asks for the sidecar")
      ->check(annotation_check())
      ->capture_default_str();
  command
      .add_option("--on-conflict", on_conflict,
                  "What to do with a Pod that asks and cannot have what it asks for")
      ->check(CLI::IsMember({"reject", "skip"}))
      ->capture_default_str();
}

core::Policy PolicyFlags::get() const {
  core::Policy result = policy;
  result.read_overrides = templates::read_overrides;
  result.on_conflict = on_conflict == "skip" ? core::OnConflict::Skip : core::OnConflict::Reject;
  return result;
}

void TemplateFlags::add_to(CLI::App& command) {
  command.add_option("--config", config,
                     "Templates: files or directories, ConfigMaps and SidecarTemplates among them; "
                     "may be repeated [default: the built-in Envoy]");
  command
      .add_option("--kube-version", kube_version,
                  "The cluster's version: from 1.29 on, placement auto is native [default: native]")
      ->check(kube_version_check());
  command.add_flag("--allow-unknown-fields", options.allow_unknown_fields,
                   "Let template fields through that this version does not know");
}

core::NativeSidecars TemplateFlags::native() const {
  return core::native_sidecars_of(kube_version).value_or(core::NativeSidecars::Yes);
}

base::Result<core::TemplateSet> TemplateFlags::load() const {
  return config.empty() ? cli::builtin_templates(native())
                        : cli::load_template_files(config, options, native(), std::cin);
}

CLI::Validator kube_version_check() {
  return {[](std::string& text) {
            return core::native_sidecars_of(text)
                       ? std::string()
                       : fmt::format("\"{}\" is not a version such as 1.29", text);
          },
          "VERSION"};
}

void LogFlags::add_to(CLI::App& command) {
  command.add_option("--log-format", format, "How log lines look")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  command.add_option("--log-level", level, "The least important lines to log")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}))
      ->capture_default_str();
}

base::Logger LogFlags::get() const {
  return {base::parse_log_format(format).value_or(base::LogFormat::Text),
          base::parse_log_level(level).value_or(base::LogLevel::Info)};
}

cli::Streams process_streams() {
  const bool no_color = std::getenv("NO_COLOR") != nullptr;  // NOLINT(concurrency-mt-unsafe)
  return {std::cin, std::cout, std::cerr, ::isatty(STDOUT_FILENO) != 0 && !no_color,
          ::isatty(STDERR_FILENO) != 0};
}

int fail(const base::Error& error) {
  return cli::fail(error, process_streams());
}

int usage_error(const base::Error& error) {
  static_cast<void>(fail(error));
  return cli::kUsage;
}

void add_list_flags(CLI::App& command, std::string& output, bool& no_headers,
                    std::string& sort_by) {
  command
      .add_option("-o,--output", output,
                  "How to list them: table, wide, json, yaml, name or jsonpath=TEMPLATE")
      ->type_name("{table,wide,json,yaml,name,jsonpath=}")
      ->capture_default_str();
  command.add_flag("--no-headers", no_headers, "Rows alone");
  command.add_option("--sort-by", sort_by, "A field of the rows in -o json, such as .missing");
}

CLI::Validator duration_check() {
  return {[](std::string& text) {
            return to_duration(text)
                       ? std::string()
                       : fmt::format("\"{}\" is not a duration such as 500ms, 30s or 5m", text);
          },
          "DURATION"};
}

std::chrono::milliseconds parse_duration(const std::string& text) {
  return to_duration(text).value_or(std::chrono::milliseconds(0));
}

}  // namespace injector::app
