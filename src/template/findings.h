// What the checks of a template found, each at its place in the text.

#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "template/parser.h"
#include "yaml/yaml.h"

namespace injector::templates {

/// A place in the template: the same in the two notations that are needed of it.
struct Place {
  std::string pointer;  // "/containers/0/image", for the source map.
  std::string path;     // "containers[0].image", for people.

  [[nodiscard]] Place member(std::string_view key) const;
  [[nodiscard]] Place element(std::size_t index) const;
};

class Findings {
 public:
  /// `top` is where the template stands in the source; places are relative to it.
  Findings(const yaml::YamlSource& source, TemplateReport& report, Place top = {})
      : source_(source),
        report_(report),
        top_(std::move(top)) {}

  /// Nothing is said about these from now on: what they are is known for each Pod only.
  void ignore(std::set<std::string> pointers) { ignored_ = std::move(pointers); }

  /// No Pod can have this.
  void problem(const Place& place, std::string message);

  /// A Pod can have it, but its author hardly meant it.
  void warning(const Place& place, std::string message);

 private:
  [[nodiscard]] std::size_t line_of(std::string pointer) const;
  [[nodiscard]] std::string path_of(const Place& place) const;

  const yaml::YamlSource& source_;  // Not owned.
  TemplateReport& report_;          // Not owned; collects.
  const Place top_;
  std::set<std::string> ignored_;  // Pointers.
};

/// Calls visit(element, its place) for each mapping in the list `parent.field`; does nothing where
/// there is no such list.
template <class Visit>
void each_item(const base::Json& parent, const char* field, const Place& place, Visit visit) {
  const base::Json* list = base::find(parent, field);
  if (list == nullptr || !list->is_array()) {
    return;
  }
  for (std::size_t i = 0; i < list->size(); ++i) {
    if (list->at(i).is_object()) {
      visit(list->at(i), place.member(field).element(i));
    }
  }
}

/// The text at `object.field`; empty where there is none.
[[nodiscard]] std::string_view text_at(const base::Json& object, std::string_view field);

/// True if `object.field` is the boolean `value`.
[[nodiscard]] bool is_flag(const base::Json& object, std::string_view field, bool value);

}  // namespace injector::templates
