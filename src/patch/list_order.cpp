#include "patch/list_order.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

#include "patch/directives.h"

namespace injector::patch {
namespace {

using base::Error;
using base::Json;
using base::Result;

// Upstream's stable sort is a plain insertion sort up to this length.
constexpr std::size_t kInsertionSortLength = 20;

std::string float_text(double number) {
  std::array<char, 512> buffer{};
  const double size = std::fabs(number);
  const bool plain = number == 0 || (size >= 1e-4 && size < 1e21);
  const auto format = plain ? std::chars_format::fixed : std::chars_format::scientific;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number, format).ptr;
  return {buffer.data(), end};
}

std::string scalar_text(const Json& scalar) {
  switch (type_of(scalar)) {
    case ValueType::Bool:
      return scalar.get<bool>() ? "true" : "false";
    case ValueType::Int:
      return std::to_string(scalar.get<std::int64_t>());
    case ValueType::Float:
      return float_text(scalar.get<double>());
    case ValueType::String:
      return scalar.get<std::string>();
    case ValueType::Null:
    case ValueType::List:
    case ValueType::Object:
      break;
  }
  return "<nil>";
}

Error no_key(std::string_view merge_key) {
  std::string message = "a list element has no merge key \"";
  return base::invalid(message.append(merge_key).append("\""));
}

// The comparison of upstream: with an element of no rank it says "less" both ways.
bool goes_before(const Item& item, const Item& other, const Ranks& ranks) {
  const std::size_t rank = ranks.of(item.identity);
  const std::size_t other_rank = ranks.of(other.identity);
  return rank == Ranks::kNone || other_rank == Ranks::kNone || rank < other_rank;
}

void insertion_sort(std::vector<Item>& items, const Ranks& ranks) {
  for (std::size_t next = 1; next < items.size(); ++next) {
    for (std::size_t at = next; at > 0 && goes_before(items[at], items[at - 1], ranks); --at) {
      std::swap(items[at], items[at - 1]);
    }
  }
}

void stable_sort_by_rank(std::vector<Item>& items, const Ranks& ranks) {
  const bool all_ranked = std::all_of(items.begin(), items.end(), [&](const Item& item) {
    return ranks.of(item.identity) != Ranks::kNone;
  });
  if (!all_ranked && items.size() <= kInsertionSortLength) {
    insertion_sort(items, ranks);  // Only this gives the order that upstream falls into.
    return;
  }
  // kNone is the largest number: what has no rank goes last, in a total order.
  std::stable_sort(items.begin(), items.end(), [&](const Item& left, const Item& right) {
    return ranks.of(left.identity) < ranks.of(right.identity);
  });
}

}  // namespace

ValueType type_of(const Json& value) noexcept {
  switch (value.type()) {
    case Json::value_t::boolean:
      return ValueType::Bool;
    case Json::value_t::number_unsigned: {
      const auto number = *value.get_ptr<const Json::number_unsigned_t*>();
      const bool fits =
          number <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
      return fits ? ValueType::Int : ValueType::Float;
    }
    case Json::value_t::number_integer:
      return ValueType::Int;
    case Json::value_t::number_float:
      return ValueType::Float;
    case Json::value_t::string:
      return ValueType::String;
    case Json::value_t::array:
      return ValueType::List;
    case Json::value_t::object:
      return ValueType::Object;
    case Json::value_t::null:
    case Json::value_t::binary:
    case Json::value_t::discarded:
      break;
  }
  return ValueType::Null;
}

std::string identity_of(const Json& scalar) {
  constexpr std::string_view kTypeLetters = "nbifslo";
  return kTypeLetters[static_cast<std::size_t>(type_of(scalar))] + scalar_text(scalar);
}

Result<ValueType> element_type(const Json& left, const Json& right) {
  if (left.empty() && right.empty()) {
    return base::invalid("both lists are empty, so their elements have no type");
  }
  const ValueType type = type_of(left.empty() ? right.front() : left.front());
  const auto alike = [type](const Json& element) { return type_of(element) == type; };
  if (!std::all_of(left.begin(), left.end(), alike) ||
      !std::all_of(right.begin(), right.end(), alike)) {
    return base::invalid("the elements of a merge list are of different types");
  }
  if (type == ValueType::Null || type == ValueType::List) {
    return base::invalid("the elements of a merge list are neither objects nor scalars");
  }
  return type;
}

Result<std::string> element_identity(const Json& element, std::string_view merge_key) {
  if (merge_key.empty()) {
    if (element.is_structured()) {
      return base::invalid("a list of scalars has an element that is none");
    }
    return identity_of(element);
  }
  const Json* key = base::find(element, merge_key);
  if (key == nullptr) {
    return no_key(merge_key);
  }
  if (key->is_structured()) {
    return base::invalid("the merge key of a list element is not a scalar");
  }
  return identity_of(*key);
}

Result<std::vector<std::string>> element_identities(const Json& list, std::string_view merge_key) {
  std::vector<std::string> identities;
  identities.reserve(list.size());
  for (const Json& element : list) {
    Result<std::string> identity = element_identity(element, merge_key);
    if (!identity) {
      return std::move(identity).error();
    }
    identities.push_back(std::move(identity).value());
  }
  return identities;
}

Ranks::Ranks(const std::vector<std::string>& identities) {
  first_.reserve(identities.size());
  for (std::size_t index = 0; index < identities.size(); ++index) {
    add(identities[index], index);
  }
}

std::size_t Ranks::of(const std::string& identity) const {
  const auto found = first_.find(identity);
  return found == first_.end() ? kNone : found->second;
}

Json to_list(std::vector<Item> items) {
  Json list = Json::array();
  for (Item& item : items) {
    list.push_back(std::move(item.value));
  }
  return list;
}

std::vector<std::size_t> sorted_by_text(const std::vector<std::string>& identities) {
  std::vector<std::size_t> order(identities.size());
  std::iota(order.rbegin(), order.rend(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t left, std::size_t right) {
    return text_of(identities[left]) < text_of(identities[right]);
  });
  return order;
}

std::vector<Item> without_duplicates(std::vector<Item> items) {
  std::unordered_map<std::string, std::set<std::size_t>> places;
  for (std::size_t index = 0; index < items.size(); ++index) {
    places[items[index].identity].insert(index);
  }
  for (std::size_t index = 0; index < items.size(); ++index) {
    std::set<std::size_t>& mine = places[items[index].identity];
    while (mine.size() > 1) {
      const std::size_t gap = *std::next(mine.begin());
      const std::size_t last = items.size() - 1;
      std::set<std::size_t>& others = places[items[last].identity];
      others.erase(last);
      if (gap != last) {
        mine.erase(gap);
        others.insert(gap);
        items[gap] = std::move(items[last]);
      }
      items.pop_back();
    }
  }
  return items;
}

bool is_deletion(const Json& element) {
  return base::text_of(base::find(element, kPatchDirective)) == kDelete;
}

void sort_by_rank(std::vector<Item>& items, const Ranks& ranks) {
  const auto deletions = std::stable_partition(
      items.begin(), items.end(), [](const Item& item) { return !is_deletion(item.value); });
  std::vector<Item> deleted(std::make_move_iterator(deletions),
                            std::make_move_iterator(items.end()));
  items.erase(deletions, items.end());
  stable_sort_by_rank(items, ranks);
  std::move(deleted.begin(), deleted.end(), std::back_inserter(items));
}

std::vector<Item> interleave(std::vector<Item> kept, std::vector<Item> patched, const Ranks& live) {
  std::vector<Item> merged;
  merged.reserve(kept.size() + patched.size());
  auto left = kept.begin();
  auto right = patched.begin();
  while (left != kept.end() && right != patched.end()) {
    const std::size_t left_rank = live.of(left->identity);
    const std::size_t right_rank = live.of(right->identity);
    const bool left_first =
        left_rank != Ranks::kNone && right_rank != Ranks::kNone && left_rank < right_rank;
    merged.push_back(std::move(left_first ? *left++ : *right++));
  }
  std::move(left, kept.end(), std::back_inserter(merged));
  std::move(right, patched.end(), std::back_inserter(merged));
  return merged;
}

}  // namespace injector::patch
