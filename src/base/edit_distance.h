// How far a typo is from what was meant. Pure; any thread.

#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace injector::base {

/// The number of single-character insertions, deletions, substitutions and swaps of neighbours that
/// turn `left` into `right`, case ignored; `limit + 1` if it is more than `limit`.
[[nodiscard]] std::size_t edit_distance(std::string_view left, std::string_view right,
                                        std::size_t limit);

/// The one of `known` that `name` was probably meant to be; empty if none is near.
template <class Range>
[[nodiscard]] std::string_view nearest(std::string_view name, const Range& known) {
  std::size_t limit = std::clamp<std::size_t>(name.size() / 3, 1, 3);
  std::string_view best;
  for (const std::string_view candidate : known) {
    const std::size_t distance = edit_distance(name, candidate, limit);
    if (distance == 0) {
      return candidate;
    }
    if (distance <= limit) {
      best = candidate;
      limit = distance - 1;
    }
  }
  return best;
}

}  // namespace injector::base
