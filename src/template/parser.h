// The sidecar's definition: from the YAML of a ConfigMap (key `config`) or bare, checked once, so
// that everything behind can rely on it. All problems are reported, not just the first.
//
// All functions are pure and may be called from any thread.

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "core/template.h"

namespace injector::templates {

struct TemplateProblem {
  std::size_t line = 0;  // 0: of the whole file.
  std::string path;      // "containers[0].image"; may be empty.
  std::string message;

  /// "envoy.yaml:3: containers[0].image: missing"
  [[nodiscard]] std::string text(std::string_view file) const;
};

struct TemplateOptions {
  // Let fields through, inside containers and volumes, that a newer Kubernetes may know. The
  // template's own fields are ours: one that we do not know cannot be applied.
  bool allow_unknown_fields = false;
};

struct TemplateReport {
  std::optional<core::Template> value;    // Set exactly if there are no problems.
  std::vector<TemplateProblem> problems;  // By line.
  std::vector<TemplateProblem> warnings;  // By line; they do not stop it.
};

/// Of a file: the first ConfigMap in it, else its first document as the bare template.
[[nodiscard]] TemplateReport check_template_file(std::string_view text,
                                                 const TemplateOptions& options = {});

/// check_template_file for those who only want the template: the problems become one Error, a line
/// each, in which `file` names the origin.
[[nodiscard]] base::Result<core::Template> parse_template(std::string_view text,
                                                          std::string_view file,
                                                          const TemplateOptions& options = {});

/// The built-in template: the Envoy of manifests/configmap.yaml.
[[nodiscard]] std::string_view default_template_text() noexcept;
[[nodiscard]] const core::Template& default_template();

}  // namespace injector::templates
