// What to add to a Pod. Built and checked by templates::parse_template; immutable from then on, so
// one snapshot may be shared by any number of threads.

#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "core/pod_value.h"
#include "core/string_map.h"

namespace injector::core {

/// The template that Pods get who ask for none by name.
inline constexpr std::string_view kDefaultTemplate = "envoy";

/// A container, volume or secret reference, with its JSON text made once for all the patches.
struct Piece {
  explicit Piece(base::Json json);

  /// One that was made for a single Pod; its value is read from the text where it is wanted.
  Piece(std::string piece_name, std::string json_text);

  [[nodiscard]] base::Json json() const;

  std::string name;
  base::Json value;  // Null if it was made from text.
  std::string text;
  Pattern pattern;  // Of the text; no parts: there are no values in it.
};

/// How the template's `containers` run.
enum class Placement {
  Container,  // Among the Pod's containers.
  Native,     // As init containers with `restartPolicy: Always`: native sidecars.
  Auto,       // Native where the cluster supports it.
};

/// Where the template's containers stand among the Pod's own.
enum class Position { Last, First };

[[nodiscard]] std::string_view to_string(Placement placement) noexcept;
[[nodiscard]] std::string_view to_string(Position position) noexcept;

struct Template {
  std::string name{kDefaultTemplate};
  Placement placement = Placement::Container;
  Position position = Position::Last;
  std::vector<std::string> overrides{"resources"};  // Fields of its containers that a Pod may set.
  std::vector<Piece> containers;
  std::vector<Piece> init_containers;
  std::vector<Piece> volumes;
  std::vector<Piece> image_pull_secrets;
  StringMap labels;
  StringMap annotations;

  // Made of the above by complete().
  std::string hash;
  std::vector<Piece> native_containers;      // `containers` as native sidecars.
  std::vector<Pattern> label_patterns;       // As many as `labels`, or none: no values in them.
  std::vector<Pattern> annotation_patterns;  // Likewise.
};

/// Fills in what is made of the rest.
void complete(Template& tpl);

/// "sha256:" and 16 hex digits over the template's canonical JSON: the same for the same meaning,
/// whatever the order of keys or the style of the file. The name is no part of it, and neither is a
/// field that means the same as its absence.
[[nodiscard]] std::string hash_of(const Template& tpl);

/// Calls visit(value) for every value of a Pod in the pattern.
template <class Visit>
void each_value(const Pattern& pattern, Visit& visit) {
  for (const PatternPart& part : pattern) {
    if (part.value) {
      visit(*part.value);
    }
  }
}

/// The same for everything that the template holds.
template <class Visit>
void each_value(const Template& tpl, Visit visit) {
  for (const auto* pieces : {&tpl.init_containers, &tpl.containers, &tpl.volumes}) {
    for (const Piece& piece : *pieces) {
      each_value(piece.pattern, visit);
    }
  }
  for (const auto* patterns : {&tpl.label_patterns, &tpl.annotation_patterns}) {
    for (const Pattern& pattern : *patterns) {
      each_value(pattern, visit);
    }
  }
}

}  // namespace injector::core
