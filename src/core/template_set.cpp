#include "core/template_set.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace injector::core {
namespace {

bool precedes(const ServedTemplate& left, const ServedTemplate& right) {
  return std::tie(left.tpl->name, left.name_space) < std::tie(right.tpl->name, right.name_space);
}

bool same_place(const ServedTemplate& left, const ServedTemplate& right) {
  return left.tpl->name == right.tpl->name && left.name_space == right.name_space;
}

// Sorted by place, with the last given one of each.
std::vector<ServedTemplate> latest(std::vector<ServedTemplate> templates) {
  std::stable_sort(templates.begin(), templates.end(), precedes);
  std::vector<ServedTemplate> kept;
  for (ServedTemplate& served : templates) {
    if (!kept.empty() && same_place(kept.back(), served)) {
      kept.back() = std::move(served);
    } else {
      kept.push_back(std::move(served));
    }
  }
  return kept;
}

void add_names(const std::vector<Piece>& pieces, std::vector<std::string>& names) {
  for (const Piece& piece : pieces) {
    names.push_back(piece.name);
  }
}

void make_sorted_set(std::vector<std::string>& names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
}

bool uses_service_account(const Template& tpl) {
  bool uses = false;
  each_value(tpl, [&](const PodValue& value) {
    uses = uses || value.source == ValueSource::ServiceAccount;
  });
  return uses;
}

bool is_only_default(const std::vector<ServedTemplate>& templates) {
  return templates.size() == 1 && templates.front().tpl->name == kDefaultTemplate &&
         templates.front().name_space.empty();
}

std::string fingerprint_of(const std::vector<ServedTemplate>& templates) {
  if (is_only_default(templates)) {
    return templates.front().tpl->hash;
  }
  std::string text;
  for (const ServedTemplate& served : templates) {
    text += text.empty() ? "" : " ";
    text += served.name_space.empty() ? "" : served.name_space + "/";
    text += served.tpl->name + "=" + served.tpl->hash;
  }
  return text;
}

}  // namespace

TemplateSet::TemplateSet(Template&& only) {
  templates_.push_back({std::make_shared<const Template>(std::move(only))});
  index();
}

TemplateSet::TemplateSet(std::vector<ServedTemplate> templates, NativeSidecars native)
    : templates_(latest(std::move(templates))),
      native_(native) {
  index();
}

TemplateSet TemplateSet::view_of(const Template& tpl) {
  const std::shared_ptr<const Template> unowned(std::shared_ptr<const Template>(), &tpl);
  return TemplateSet(std::vector<ServedTemplate>{{unowned}});
}

void TemplateSet::index() {
  for (const ServedTemplate& served : templates_) {
    add_names(served.tpl->volumes, volume_names_);
    add_names(served.tpl->containers, container_names_);
    add_names(served.tpl->init_containers, container_names_);
    has_selectors_ = has_selectors_ || served.selector.has_value();
    selects_namespaces_ =
        selects_namespaces_ || (served.selector && served.namespace_selector.has_value());
    uses_service_account_ = uses_service_account_ || core::uses_service_account(*served.tpl);
  }
  make_sorted_set(volume_names_);
  make_sorted_set(container_names_);
  fingerprint_ = fingerprint_of(templates_);
}

const ServedTemplate* TemplateSet::find(std::string_view name,
                                        std::string_view name_space) const noexcept {
  const auto first = std::lower_bound(templates_.begin(), templates_.end(), name,
                                      [](const ServedTemplate& served, std::string_view wanted) {
                                        return served.tpl->name < wanted;
                                      });
  const ServedTemplate* found = nullptr;
  for (auto at = first; at != templates_.end() && at->tpl->name == name; ++at) {
    if (at->name_space.empty() || at->name_space == name_space) {
      found = &*at;  // The Namespace's own stands behind the cluster's.
    }
  }
  return found;
}

const Template* TemplateSet::default_for(std::string_view name_space) const noexcept {
  const ServedTemplate* found = find(kDefaultTemplate, name_space);
  return found == nullptr ? nullptr : found->tpl.get();
}

std::vector<std::string> TemplateSet::names_for(std::string_view name_space) const {
  std::vector<std::string> names;
  for (const ServedTemplate& served : templates_) {
    if (served.name_space.empty() || served.name_space == name_space) {
      names.push_back(served.tpl->name);
    }
  }
  make_sorted_set(names);
  return names;
}

std::vector<const ServedTemplate*> TemplateSet::selected_for(const PodFacts& pod,
                                                             const MetaFacts* name_space) const {
  std::vector<const ServedTemplate*> selected;
  for (const ServedTemplate& served : templates_) {
    const bool nearest = find(served.tpl->name, pod.name_space) == &served;
    if (!nearest || !served.selector || !served.selector->matches(pod.labels)) {
      continue;
    }
    if (!served.namespace_selector ||
        (name_space != nullptr && served.namespace_selector->matches(name_space->labels))) {
      selected.push_back(&served);
    }
  }
  return selected;
}

bool TemplateSet::has_volume(std::string_view name) const noexcept {
  return std::binary_search(volume_names_.begin(), volume_names_.end(), name);
}

bool TemplateSet::has_container(std::string_view name) const noexcept {
  return std::binary_search(container_names_.begin(), container_names_.end(), name);
}

}  // namespace injector::core
