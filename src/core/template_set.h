// The templates that serve, and who may have which. Immutable: one snapshot may be shared by any
// number of threads.

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/label_selector.h"
#include "core/pod_facts.h"
#include "core/template.h"

namespace injector::core {

struct ServedTemplate {
  std::shared_ptr<const Template> tpl;         // Never null in a set.
  std::string origin = {};                     // For people: "configmap ns/name", "file otel.yaml".
  std::string name_space = {};                 // Serves its Pods only; empty: the whole cluster's.
  std::optional<LabelSelector> selector = {};  // Pods that get it without asking.
  std::optional<LabelSelector> namespace_selector = {};  // Of these, only those in such Namespaces.
};

/// Whether the cluster runs init containers with `restartPolicy: Always` beside the others, so that
/// `placement: auto` means native.
enum class NativeSidecars { No, Yes };

class TemplateSet {
 public:
  /// Nobody gets anything.
  TemplateSet() = default;

  /// One for the whole cluster. From a temporary only: a template is never copied by accident.
  TemplateSet(Template&& only);  // NOLINT(google-explicit-constructor)

  /// Of two with the same name and scope, the later one.
  explicit TemplateSet(std::vector<ServedTemplate> templates,
                       NativeSidecars native = NativeSidecars::Yes);

  /// A set that does not own its template: `tpl` outlives it and what is decided with it.
  [[nodiscard]] static TemplateSet view_of(const Template& tpl);

  /// What a Pod of `name_space` gets under this name: the Namespace's own template comes before
  /// that of the cluster. Null if there is none.
  [[nodiscard]] const ServedTemplate* find(std::string_view name,
                                           std::string_view name_space) const noexcept;

  /// The default template for Pods of `name_space`; null if there is none.
  [[nodiscard]] const Template* default_for(std::string_view name_space) const noexcept;

  /// The names that a Pod of `name_space` may ask for, sorted.
  [[nodiscard]] std::vector<std::string> names_for(std::string_view name_space) const;

  /// Those that this Pod gets without asking, by name. `name_space` is null where nothing is known
  /// of the Pod's Namespace: then those with a namespace selector do not match.
  [[nodiscard]] std::vector<const ServedTemplate*> selected_for(const PodFacts& pod,
                                                                const MetaFacts* name_space) const;

  [[nodiscard]] const std::vector<ServedTemplate>& templates() const noexcept { return templates_; }

  [[nodiscard]] bool empty() const noexcept { return templates_.empty(); }

  [[nodiscard]] NativeSidecars native() const noexcept { return native_; }

  /// Whether selectors exist at all, and such that look at Namespaces.
  [[nodiscard]] bool has_selectors() const noexcept { return has_selectors_; }

  [[nodiscard]] bool selects_namespaces() const noexcept { return selects_namespaces_; }

  // What has to be gathered of a Pod.

  [[nodiscard]] bool has_volume(std::string_view name) const noexcept;
  [[nodiscard]] bool has_container(std::string_view name) const noexcept;

  [[nodiscard]] bool uses_service_account() const noexcept { return uses_service_account_; }

  /// For logs and metrics, the same for the same templates: the hash of a single default template,
  /// else "name=hash" for each.
  [[nodiscard]] const std::string& fingerprint() const noexcept { return fingerprint_; }

 private:
  void index();

  std::vector<ServedTemplate> templates_;  // By name, then namespace: the cluster's comes first.
  NativeSidecars native_ = NativeSidecars::Yes;
  std::vector<std::string> volume_names_;     // Sorted.
  std::vector<std::string> container_names_;  // Sorted; init containers are among them.
  std::string fingerprint_;
  bool has_selectors_ = false;
  bool selects_namespaces_ = false;
  bool uses_service_account_ = false;
};

}  // namespace injector::core
