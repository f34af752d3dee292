// What to add to a Pod. Built and checked by templates::parse_template; immutable from then on, so
// one snapshot may be shared by any number of threads.

#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/json.h"

namespace injector::core {

/// A container, volume or secret reference, with its JSON text made once for all the patches.
struct Piece {
  explicit Piece(base::Json json);

  std::string name;
  base::Json value;
  std::string text;
};

/// Labels or annotations in the author's order.
using StringMap = std::vector<std::pair<std::string, std::string>>;

[[nodiscard]] const std::string* find(const StringMap& map, std::string_view key) noexcept;

struct Template {
  std::string hash;  // Of everything below; see hash_of.
  std::vector<Piece> containers;
  std::vector<Piece> init_containers;
  std::vector<Piece> volumes;
  std::vector<Piece> image_pull_secrets;
  StringMap labels;
  StringMap annotations;
};

/// "sha256:" and 16 hex digits over the template's canonical JSON: the same for the same meaning,
/// whatever the order of keys or the style of the file.
[[nodiscard]] std::string hash_of(const Template& tpl);

}  // namespace injector::core
