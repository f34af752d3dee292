#include "patch/list_merge.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "patch/directives.h"

namespace injector::patch {
namespace {

using base::Error;
using base::Json;
using base::Result;

struct Partition {
  std::vector<Item> patched;
  std::vector<Item> kept;
};

Partition partition_by(const Ranks& ranks, std::vector<Item> items) {
  Partition result;
  for (Item& item : items) {
    const bool ranked = ranks.of(item.identity) != Ranks::kNone;
    (ranked ? result.patched : result.kept).push_back(std::move(item));
  }
  return result;
}

std::vector<std::string> identities_of(const std::vector<Item>& items) {
  std::vector<std::string> identities;
  identities.reserve(items.size());
  std::transform(items.begin(), items.end(), std::back_inserter(identities),
                 [](const Item& item) { return item.identity; });
  return identities;
}

// The live list while elements marked for deletion leave it.
class LiveList {
 public:
  explicit LiveList(std::vector<Item> items)
      : items_(std::move(items)),
        deleted_(items_.size(), false),
        alive_(items_.size()),
        last_(items_.size()) {
    for (std::size_t index = 0; index < items_.size(); ++index) {
      places_[items_[index].identity].push_back(index);
    }
  }

  void erase_all(const std::string& identity) {
    const auto found = places_.find(identity);
    if (found == places_.end()) {
      return;
    }
    for (const std::size_t index : found->second) {
      erase(index);
    }
    places_.erase(found);
  }

  // What the backing array holds after its living elements and `additions`.
  [[nodiscard]] Ranks backing_ranks(const std::vector<std::string>& living_and_added) const {
    Ranks ranks(living_and_added);
    for (std::size_t place = living_and_added.size(); place < items_.size(); ++place) {
      ranks.add(stale_[items_.size() - 1 - place], place);
    }
    return ranks;
  }

  // Leaves the identities behind, for backing_ranks().
  [[nodiscard]] std::vector<Item> take_living() {
    std::vector<Item> living;
    living.reserve(alive_);
    for (std::size_t index = 0; index < items_.size(); ++index) {
      if (!deleted_[index]) {
        living.push_back(Item{items_[index].identity, std::move(items_[index].value)});
      }
    }
    return living;
  }

  [[nodiscard]] std::size_t size() const noexcept { return items_.size(); }

 private:
  // Closing the gap leaves the last living element in the place that falls free.
  void erase(std::size_t index) {
    while (deleted_[last_ - 1]) {
      --last_;
    }
    stale_.push_back(items_[last_ - 1].identity);
    deleted_[index] = true;
    --alive_;
  }

  std::vector<Item> items_;
  std::vector<bool> deleted_;
  std::size_t alive_;
  std::size_t last_;                // Nothing lives from here on.
  std::vector<std::string> stale_;  // From the array's end backwards.
  std::unordered_map<std::string, std::vector<std::size_t>> places_;
};

class ObjectListMerge {
 public:
  ObjectListMerge(std::vector<Item> live, const Json& patch, const Field& field)
      : live_(std::move(live)),
        patch_(patch),
        field_(field) {}

  [[nodiscard]] Result<MergedList> run() {
    INJ_TRY(obey_directives());
    std::vector<Item> living = live_.take_living();
    return replace_ ? replaced(living) : merged(std::move(living));
  }

 private:
  Result<void> obey_directives() {
    for (const Json& element : patch_) {
      const Json* directive = base::find(element, kPatchDirective);
      Result<void> done = directive == nullptr ? change(element) : obey(*directive, element);
      if (!done) {
        return done;
      }
    }
    return {};
  }

  // Without a key it is no error yet: a replacement does not ask for keys before its end.
  Result<void> change(const Json& element) {
    changes_.push_back(&element);
    return {};
  }

  Result<void> obey(const Json& directive, const Json& element) {
    if (base::text_of(&directive) == kReplace) {
      replace_ = true;
      return {};
    }
    if (base::text_of(&directive) != kDelete) {
      return base::invalid(
          "a list element has an unknown $patch: only delete and replace are known");
    }
    Result<std::string> identity = element_identity(element, field_.merge_key);
    if (!identity) {
      return std::move(identity).error();
    }
    live_.erase_all(identity.value());
    return {};
  }

  Result<MergedList> replaced(const std::vector<Item>& living) {
    Json list = Json::array();
    for (const Json* element : changes_) {
      list.push_back(*element);
    }
    Result<std::vector<Item>> items = to_items(std::move(list), field_.merge_key);
    if (!items) {
      return std::move(items).error();
    }
    const Ranks own(identities_of(items.value()));
    return MergedList{in_order(std::move(items).value(), Ranks(), own),
                      live_.backing_ranks(identities_of(living))};
  }

  Result<MergedList> merged(std::vector<Item> living) {
    const Ranks live(identities_of(living));
    Result<Ranks> order = merge_changes(living);
    if (!order) {
      return std::move(order).error();
    }
    std::vector<std::string> backing = identities_of(living);
    backing.resize(std::min(backing.size(), live_.size()));
    return MergedList{in_order(std::move(living), order.value(), live),
                      live_.backing_ranks(backing)};
  }

  // Each change goes into the first element of its key, or to the end. Returns the patch's order.
  Result<Ranks> merge_changes(std::vector<Item>& living) {
    Ranks places(identities_of(living));
    Ranks order;
    for (std::size_t index = 0; index < changes_.size(); ++index) {
      Result<std::string> identity = element_identity(*changes_[index], field_.merge_key);
      if (!identity) {
        return std::move(identity).error();
      }
      order.add(identity.value(), index);
      const std::size_t place = places.of(identity.value());
      if (place == Ranks::kNone) {
        places.add(identity.value(), living.size());
        living.push_back(Item{std::move(identity).value(), *changes_[index]});
      } else if (Result<void> done = merge_into(living[place], *changes_[index]); !done) {
        return base::annotate(done.error(), text_of(identity.value()));
      }
    }
    return order;
  }

  Result<void> merge_into(Item& item, const Json& change) {
    Result<Json> merged = merge_objects(std::move(item.value), change, field_.schema);
    if (!merged) {
      return std::move(merged).error();
    }
    item.value = std::move(merged).value();
    // A null for the merge key matches a null, and then removes it.
    Result<std::string> identity = element_identity(item.value, field_.merge_key);
    return identity ? Result<void>() : Result<void>(std::move(identity).error());
  }

  LiveList live_;
  const Json& patch_;
  const Field& field_;
  std::vector<const Json*> changes_;
  bool replace_ = false;
};

MergedList merge_scalars(std::vector<Item> original, std::vector<Item> patch) {
  std::vector<std::string> live = identities_of(original);
  const Ranks order(identities_of(patch));
  const std::size_t size = original.size();
  std::move(patch.begin(), patch.end(), std::back_inserter(original));
  // A decoded list of Go has room up to a power of two. If the additions fit into it, upstream
  // removes duplicates from the live list too while it still looks up places there.
  const bool in_place = original.size() <= std::bit_ceil(size);
  std::vector<Item> merged = without_duplicates(std::move(original));
  if (in_place) {
    live = identities_of(merged);
    live.resize(std::min(live.size(), size));
  }
  return MergedList{in_order(std::move(merged), order, Ranks(live)), Ranks(live)};
}

std::vector<Item> without(std::vector<Item> items, const std::vector<Item>& deleted) {
  const Ranks gone(identities_of(deleted));
  items.erase(
      std::remove_if(items.begin(), items.end(),
                     [&](const Item& item) { return gone.of(item.identity) != Ranks::kNone; }),
      items.end());
  return items;
}

bool replaces_list(const Json& patch) {
  return std::any_of(patch.begin(), patch.end(), [](const Json& element) {
    return base::text_of(base::find(element, kPatchDirective)) == kReplace;
  });
}

// A list that is replaced anyway is not asked for its keys: an element without one matches nothing.
Result<std::vector<Item>> live_items(Json live, const Json& patch, std::string_view merge_key) {
  if (!replaces_list(patch)) {
    return to_items(std::move(live), merge_key);
  }
  std::vector<Item> items;
  for (Json& element : live) {
    Result<std::string> identity = element_identity(element, merge_key);
    items.push_back(Item{identity ? std::move(identity).value() : "", std::move(element)});
  }
  return items;
}

Error out_of_order(std::string_view element) {
  return base::invalid("the patch has an element \"" + std::string(element) +
                       "\" that its $setElementOrder does not have at that place");
}

}  // namespace

std::vector<Item> in_order(std::vector<Item> items, const Ranks& order, const Ranks& live) {
  Partition parts = partition_by(order, std::move(items));
  sort_by_rank(parts.patched, order);
  sort_by_rank(parts.kept, live);
  return interleave(std::move(parts.kept), std::move(parts.patched), live);
}

Result<std::vector<Item>> to_items(Json list, std::string_view merge_key) {
  Result<std::vector<std::string>> identities = element_identities(list, merge_key);
  if (!identities) {
    return std::move(identities).error();
  }
  std::vector<Item> items;
  items.reserve(list.size());
  for (std::size_t index = 0; index < list.size(); ++index) {
    items.push_back(Item{std::move(identities.value()[index]), std::move(list[index])});
  }
  return items;
}

Result<MergedList> merge_lists(Json original, const Json& patch, const Field& field) {
  if (original.empty() && patch.empty()) {
    return MergedList{};
  }
  if (const Result<ValueType> type = element_type(original, patch); !type) {
    return type.error();
  }
  Result<std::vector<Item>> live = live_items(std::move(original), patch, field.merge_key);
  if (!live) {
    return std::move(live).error();
  }
  if (!field.merge_key.empty()) {
    return ObjectListMerge(std::move(live).value(), patch, field).run();
  }
  Result<std::vector<Item>> added = to_items(patch, {});
  if (!added) {
    return std::move(added).error();
  }
  return merge_scalars(std::move(live).value(), std::move(added).value());
}

Result<Json> delete_scalars(Json original, const Json& patch) {
  if (original.empty() && patch.empty()) {
    return original;
  }
  if (const Result<ValueType> type = element_type(original, patch); !type) {
    return type.error();
  }
  Result<std::vector<Item>> live = to_items(std::move(original), {});
  if (!live) {
    return std::move(live).error();
  }
  Result<std::vector<Item>> deleted = to_items(patch, {});
  if (!deleted) {
    return std::move(deleted).error();
  }
  return to_list(without(std::move(live).value(), deleted.value()));
}

Result<void> check_order(const Json& patch, const std::vector<std::string>& order,
                         std::string_view merge_key) {
  auto place = order.begin();
  for (const Json& element : patch) {
    if (is_deletion(element)) {
      continue;
    }
    if (base::find(element, kPatchDirective) != nullptr) {
      if (place == order.end()) {
        return out_of_order(kPatchDirective);
      }
      continue;
    }
    const Result<std::string> identity = element_identity(element, merge_key);
    if (!identity) {
      return identity.error();
    }
    place = std::find(place, order.end(), identity.value());
    if (place == order.end()) {
      return out_of_order(text_of(identity.value()));
    }
    ++place;
  }
  return {};
}

}  // namespace injector::patch
