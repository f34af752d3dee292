// The status annotation: what an injected Pod carries so that its injection can be undone exactly,
// and so that anybody can see which template it came from.
//
//   {"template":"sha256:0123456789abcdef","containers":["envoy"],"volumes":["envoy-conf"],
//    "created":["metadata.annotations","spec.volumes"]}
//
// That is all for a Pod with the default template, and what version 0.1 wrote. With other
// templates, or several, `templates` lists all of them in their order; `template` is then the hash
// of the default one if it is among them, else of the first, so that 0.1 still reads it:
//
//   {"template":"sha256:0123456789abcdef","templates":[{"name":"envoy","hash":"sha256:0123..."},
//    {"name":"otel","hash":"sha256:fedc..."}],"containers":["envoy","otel"]}
//
// `replaced` holds containers of the Pod's own that overrode a sidecar, with the place they go back
// to: {"list":"containers","index":1,"container":{"name":"envoy","image":"auto"}}.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "core/decision.h"
#include "core/pod_facts.h"
#include "core/template_set.h"

namespace injector::core {

/// Follows a path of `created` whose parent was there as null: undoing makes it null again.
inline constexpr const char* kWasNull = "=null";

/// A template by what the Pod had of it.
struct TemplateVersion {
  std::string name;
  std::string hash;

  bool operator==(const TemplateVersion&) const = default;
};

struct Status {
  std::vector<TemplateVersion> templates;  // At least one in a status that was read.
  std::vector<std::string> containers;
  std::vector<std::string> init_containers;
  std::vector<std::string> volumes;
  std::vector<std::string> image_pull_secrets;
  std::vector<std::string> labels;
  std::vector<std::string> annotations;  // Without the status annotation itself.
  std::vector<std::string> created;      // Parents that were absent: "spec.volumes".
  std::vector<ReplacedContainer> replaced;

  /// "sha256:..." of a single default template, else "envoy=sha256:... otel=sha256:...".
  [[nodiscard]] std::string versions() const;
};

/// What `plan`, which has no status annotation yet, is about to do to the Pod of `facts`: one line
/// of JSON; empty lists are left out.
[[nodiscard]] std::string write_status(const PodFacts& facts, const Plan& plan);

/// What the templates of these names say today, as Status::versions() does: "otel=none" for one
/// that is gone.
[[nodiscard]] std::string current_versions(const Status& status, const TemplateSet& templates,
                                           std::string_view name_space);

/// Whether all that the Pod of `name_space` has is what the templates of these names say today.
[[nodiscard]] bool is_current(const Status& status, const TemplateSet& templates,
                              std::string_view name_space);

/// Reads a parsed annotation value back. Unknown members are ignored: a later version may add some.
[[nodiscard]] base::Result<Status> read_status(const base::Json& value);

}  // namespace injector::core
