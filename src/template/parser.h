// The sidecars' definitions, checked once, so that everything behind can rely on them. All problems
// are reported, not just the first. A text holds
//
//   a ConfigMap: the key `config` is the default template, named `envoy`; every other key is a
//   template of that name;
//   SidecarTemplate objects, which have names of their own and may have selectors;
//   or one bare template.
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
#include "core/label_selector.h"
#include "core/template.h"
#include "core/template_set.h"

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
  // SidecarTemplates of this namespace, or of none, serve the whole cluster.
  std::string own_namespace = "envoy-initializer";
};

struct TemplateReport {
  std::string name{core::kDefaultTemplate};
  std::string name_space{};  // The one whose Pods it serves; empty: all of them.
  std::string object{};      // "sidecartemplate shop/otel"; empty: it is no object.
  std::optional<core::LabelSelector> selector{};
  std::optional<core::LabelSelector> namespace_selector{};
  std::optional<core::Template> value{};    // Set exactly if there are no problems.
  std::vector<TemplateProblem> problems{};  // By line.
  std::vector<TemplateProblem> warnings{};  // By line; they do not stop it.

  /// The problems as one Error, a line each, in which `file` names the origin.
  [[nodiscard]] base::Error error(std::string_view file) const;

  /// What serves of it; there are no problems. `origin` is where it was found.
  [[nodiscard]] core::ServedTemplate served(std::string_view origin) &&;
};

/// All the templates of a text; at least one. `bare_name` is that of a template without one of its
/// own.
[[nodiscard]] std::vector<TemplateReport> check_templates(
    std::string_view text, const TemplateOptions& options = {},
    std::string_view bare_name = core::kDefaultTemplate);

/// Of a text with one template, or the default template among several, else the first: with the
/// problems of all of them.
[[nodiscard]] TemplateReport check_template_file(std::string_view text,
                                                 const TemplateOptions& options = {});

/// check_template_file for those who only want the template: the problems become one Error, a line
/// each, in which `file` names the origin.
[[nodiscard]] base::Result<core::Template> parse_template(std::string_view text,
                                                          std::string_view file,
                                                          const TemplateOptions& options = {});

/// A name that a template can have: at most 63 of a-z, 0-9, - and ., the last two not at the ends.
[[nodiscard]] bool is_template_name(std::string_view name) noexcept;

/// YAML or JSON, for core::Policy.
[[nodiscard]] base::Result<base::Json> read_overrides(std::string_view text);

/// The built-in template: the Envoy of manifests/configmap.yaml.
[[nodiscard]] std::string_view default_template_text() noexcept;
[[nodiscard]] const core::Template& default_template();

}  // namespace injector::templates
