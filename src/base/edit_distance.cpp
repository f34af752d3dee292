#include "base/edit_distance.h"

#include <array>
#include <vector>

#include "base/ascii.h"

namespace injector::base {
namespace {

bool same_letter(char left, char right) noexcept {
  return to_lower(left) == to_lower(right);
}

// One row of the Damerau-Levenshtein table from the two before it.
void fill_row(std::string_view left, std::string_view right, std::size_t row,
              std::array<std::vector<std::size_t>, 3>& rows) {
  auto& current = rows.at(row % 3);
  const auto& above = rows.at((row + 2) % 3);
  const auto& two_above = rows.at((row + 1) % 3);
  current[0] = row;
  for (std::size_t column = 1; column <= right.size(); ++column) {
    const std::size_t substitution = same_letter(left[row - 1], right[column - 1]) ? 0 : 1;
    current[column] =
        std::min({above[column] + 1, current[column - 1] + 1, above[column - 1] + substitution});
    const bool swapped = row > 1 && column > 1 && same_letter(left[row - 1], right[column - 2]) &&
                         same_letter(left[row - 2], right[column - 1]);
    if (swapped) {
      current[column] = std::min(current[column], two_above[column - 2] + 1);
    }
  }
}

}  // namespace

std::size_t edit_distance(std::string_view left, std::string_view right, std::size_t limit) {
  const std::size_t gap =
      left.size() > right.size() ? left.size() - right.size() : right.size() - left.size();
  if (gap > limit) {
    return limit + 1;
  }
  std::array<std::vector<std::size_t>, 3> rows;
  rows.fill(std::vector<std::size_t>(right.size() + 1));
  for (std::size_t column = 0; column <= right.size(); ++column) {
    rows[0][column] = column;
  }
  for (std::size_t row = 1; row <= left.size(); ++row) {
    fill_row(left, right, row, rows);
  }
  return std::min(rows.at(left.size() % 3).back(), limit + 1);
}

}  // namespace injector::base
