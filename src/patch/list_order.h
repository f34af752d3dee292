// The elements of merge lists as Kubernetes' Go code tells them apart, sorts and deduplicates them.
// The order of a patch is part of its meaning, so this follows upstream into its odd corners.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace injector::patch {

/// The types that a decoded document has in Go: two values of different types are never equal.
enum class ValueType { Null, Bool, Int, Float, String, List, Object };

[[nodiscard]] ValueType type_of(const base::Json& value) noexcept;

/// A scalar as Go's %v prints it, with its type in front: equal for equal values only.
[[nodiscard]] std::string identity_of(const base::Json& scalar);

/// The same without the type: what upstream sorts and pairs by, so that 80 and "80" are a pair.
[[nodiscard]] inline std::string_view text_of(std::string_view identity) noexcept {
  return identity.substr(1);
}

/// The one type of all elements of both lists. Mixed types, nulls and lists of lists are errors,
/// and so are two empty lists.
[[nodiscard]] base::Result<ValueType> element_type(const base::Json& left, const base::Json& right);

/// What identifies an element of a merge list: the value of its merge key, or, without a merge key,
/// the scalar itself. An element that has none is an error.
[[nodiscard]] base::Result<std::string> element_identity(const base::Json& element,
                                                         std::string_view merge_key);
[[nodiscard]] base::Result<std::vector<std::string>> element_identities(const base::Json& list,
                                                                        std::string_view merge_key);

/// Where each element stands in a list: its first index, by identity.
class Ranks {
 public:
  Ranks() = default;
  explicit Ranks(const std::vector<std::string>& identities);

  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  /// Ignored if `identity` has a place already.
  void add(const std::string& identity, std::size_t index) { first_.emplace(identity, index); }

  [[nodiscard]] std::size_t of(const std::string& identity) const;

 private:
  std::unordered_map<std::string, std::size_t> first_;
};

/// One element on its way through a merge.
struct Item {
  std::string identity;
  base::Json value;
};

/// The values of `items` as a list.
[[nodiscard]] base::Json to_list(std::vector<Item> items);

/// Indices of `identities` sorted by text. Equal ones come out reversed: upstream's "less" is
/// "less or equal", and its sort of up to twelve elements turns them around.
[[nodiscard]] std::vector<std::size_t> sorted_by_text(const std::vector<std::string>& identities);

/// Removes later duplicates as upstream does, by moving the last element into the gap.
[[nodiscard]] std::vector<Item> without_duplicates(std::vector<Item> items);

/// Puts `items` into the order of `ranks`; elements marked `$patch: delete` go last.
void sort_by_rank(std::vector<Item>& items, const Ranks& ranks);

/// Merges two sorted lists: an element of `kept` comes first only if it stood before its rival in
/// the live list. Elements that the live list does not know therefore precede the rest of it.
[[nodiscard]] std::vector<Item> interleave(std::vector<Item> kept, std::vector<Item> patched,
                                           const Ranks& live);

[[nodiscard]] bool is_deletion(const base::Json& element);

}  // namespace injector::patch
