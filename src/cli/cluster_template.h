// The template that a cluster uses, for commands that read it once.

#pragma once

#include <chrono>
#include <istream>
#include <stop_token>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "core/template_set.h"
#include "kube/rest_client.h"
#include "template/parser.h"

namespace injector::cli {

/// How long a command waits for one answer of a cluster.
inline constexpr base::Duration kCommandPatience = std::chrono::seconds(15);

/// A template, and what a person should know about where it came from.
struct FoundTemplate {
  core::TemplateSet templates;
  std::string source;   // "configmap ns/name", "file envoy.yaml", "built-in template".
  std::string note;     // Why it is not the one that was looked for first; empty: it is.
  bool certain = true;  // False: the cluster's own may not be read, so this one may be another.

  /// "configmap ns/name (sha256:...)", and the note.
  [[nodiscard]] std::string describe() const;
};

/// What the command line says about the template. At most one of the two is set.
struct TemplateChoice {
  std::vector<std::string> files{};  // --config
  std::string config_map{};          // --configmap
  templates::TemplateOptions options{};
};

/// The templates of files and directories, as --config names them; "-" is `in`.
[[nodiscard]] base::Result<core::TemplateSet> load_template_files(
    const std::vector<std::string>& files, const templates::TemplateOptions& options,
    core::NativeSidecars native, std::istream& in);

/// The built-in template alone.
[[nodiscard]] core::TemplateSet builtin_templates(core::NativeSidecars native);

/// The template that the cluster uses, for commands that read it once: the one given, else the one
/// in kTemplateConfigMap, else the built-in. Of a ConfigMap that cannot be used, the last good
/// content, as the webhook does it. An Error: it cannot be read or used, or the server
/// does not answer. A ConfigMap that may not be read is no Error unless it was asked for by name.
/// `in` is what "-" as the file's name means.
[[nodiscard]] base::Result<FoundTemplate> find_template(kube::RestClient& client,
                                                        const TemplateChoice& choice,
                                                        std::istream& in,
                                                        const std::stop_token& stop);

}  // namespace injector::cli
