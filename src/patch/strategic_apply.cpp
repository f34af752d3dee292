#include <algorithm>
#include <bit>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "patch/directives.h"
#include "patch/limits.h"
#include "patch/list_order.h"
#include "patch/object_editor.h"
#include "patch/strategic_merge.h"

namespace injector::patch {
namespace {

using base::Error;
using base::Json;
using base::Result;

Result<Json> merge_objects(Json original, const Json& patch, const Schema& schema);

const Json::object_t& members(const Json& object) {
  return object.get_ref<const Json::object_t&>();
}

// --- Values that are new to the object

enum class Nulls { Keep, Drop };

// A copy without the maps that carry $patch (there is nothing to patch), at any depth.
std::optional<Json> without_directives(const Json& value, Nulls nulls);

Json elements_without_directives(const Json& list, Nulls nulls) {
  Json kept = Json::array();
  for (const Json& element : list) {
    if (std::optional<Json> clean = without_directives(element, nulls); clean) {
      kept.push_back(*std::move(clean));
    }
  }
  return kept;
}

std::optional<Json> without_directives(const Json& value, Nulls nulls) {
  if (value.is_array()) {
    return elements_without_directives(value, nulls);
  }
  if (!value.is_object()) {
    return value;
  }
  Json kept = Json::object();
  for (const auto& [key, member] : members(value)) {
    if (nulls == Nulls::Drop && member.is_null()) {
      continue;
    }
    if (key == kPatchDirective) {
      return std::nullopt;
    }
    if (std::optional<Json> clean = without_directives(member, nulls); clean) {
      base::append_member(kept, key, *std::move(clean));
    }
  }
  return kept;
}

// --- Merge lists

struct MergedList {
  std::vector<Item> items;
  // Upstream edits the live list in place and then looks places up in what is left of it: deletions
  // close ranks, additions fill the room, and behind them stand stale elements.
  Ranks live;
};

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

// Elements that `order` names follow it; the others keep the order of the live list.
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

Json to_list(std::vector<Item> items) {
  Json list = Json::array();
  for (Item& item : items) {
    list.push_back(std::move(item.value));
  }
  return list;
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

// --- $setElementOrder

Error out_of_order(std::string_view element) {
  return base::invalid("the patch has an element \"" + std::string(element) +
                       "\" that its $setElementOrder does not have at that place");
}

// The elements of the patch must be among those of the order, and in that order. Deletions may
// stand anywhere; another directive must not come after the last element of the order.
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

// --- Objects

bool is_directive(std::string_view key, std::string_view prefix) {
  return key.starts_with(prefix);
}

Result<std::string_view> directed_field(std::string_view key, std::string_view prefix) {
  const std::string_view rest = key.substr(prefix.size());
  if (!rest.starts_with('/')) {
    return base::invalid("the directive " + std::string(key) + " does not name a field");
  }
  return rest.substr(1);
}

class ObjectMerge {
 public:
  ObjectMerge(Json original, const Json& patch, const Schema& schema)
      : target_(std::move(original), patch.size()),
        patch_(patch),
        patch_members_(patch),
        schema_(schema) {}

  [[nodiscard]] Result<Json> run() && {
    INJ_TRY(retain_keys());
    for (const auto& [key, value] : members(patch_)) {
      if (!is_directive(key, kSetElementOrderPrefix)) {
        continue;
      }
      if (Result<void> done = set_element_order(key, value); !done) {
        return base::annotate(done.error(), key);
      }
    }
    for (const auto& [key, value] : members(patch_)) {
      if (is_directive(key, kSetElementOrderPrefix) || finished_.contains(key) ||
          key == kRetainKeysDirective) {
        continue;
      }
      if (Result<void> done = merge_member(key, value); !done) {
        return base::annotate(done.error(), key);
      }
    }
    return std::move(target_).take();
  }

 private:
  Result<void> retain_keys() {
    const Json* directive = patch_members_.find(kRetainKeysDirective);
    if (directive == nullptr) {
      return {};
    }
    if (!directive->is_array()) {
      return base::invalid("$retainKeys is not a list");
    }
    std::unordered_set<std::string_view> retained;
    for (const Json& key : *directive) {
      if (key.is_string()) {
        retained.insert(base::text_of(&key));
      }
    }
    for (const auto& [key, value] : members(patch_)) {
      if (sets_a_key(key, value) && !retained.contains(key)) {
        return base::invalid("the patch sets " + key + ", which its $retainKeys does not list");
      }
    }
    target_.keep_if([&](std::string_view key) { return retained.contains(key); });
    return {};
  }

  static bool sets_a_key(std::string_view key, const Json& value) {
    return !value.is_null() && key != kRetainKeysDirective &&
           !is_directive(key, kDeleteFromListPrefix) && !is_directive(key, kSetElementOrderPrefix);
  }

  Result<void> set_element_order(std::string_view directive, const Json& wanted) {
    const Result<std::string_view> name = directed_field(directive, kSetElementOrderPrefix);
    if (!name) {
      return name.error();
    }
    Json* live = target_.find(name.value());
    const Json* patch = patch_members_.find(name.value());
    const auto is_list = [](const Json* value) { return value == nullptr || value->is_array(); };
    if (!wanted.is_array() || !is_list(live) || !is_list(patch)) {
      return base::invalid("an order is given for something that is not a list");
    }
    if (live == nullptr && patch == nullptr) {
      return {};
    }
    Result<Json> ordered = ordered_list(live, patch, wanted, field_or_atomic(name.value()));
    if (!ordered) {
      return std::move(ordered).error();
    }
    target_.set(name.value(), std::move(ordered).value());
    finished_.insert(name.value());
    return {};
  }

  // An atomic list of scalars may be ordered too, whether we know it or not.
  [[nodiscard]] Field field_or_atomic(std::string_view name) const {
    const Field* field = schema_.find(name);
    return is_merge_list(field) ? *field : Field{};
  }

  static Result<Json> ordered_list(Json* live, const Json* patch, const Json& wanted,
                                   const Field& field) {
    const Json none = Json::array();
    const Result<ValueType> type =
        element_type(live == nullptr ? none : *live, patch == nullptr ? none : *patch);
    if (!type) {
      return type.error();
    }
    Result<std::vector<std::string>> order = element_identities(wanted, field.merge_key);
    if (!order) {
      return std::move(order).error();
    }
    if (patch != nullptr && !wanted.empty()) {
      INJ_TRY(check_order(*patch, order.value(), field.merge_key));
    }
    Result<MergedList> merged = merged_list(live, patch, field);
    if (!merged) {
      return std::move(merged).error();
    }
    return to_list(
        in_order(std::move(merged.value().items), Ranks(order.value()), merged.value().live));
  }

  static Result<MergedList> merged_list(Json* live, const Json* patch, const Field& field) {
    if (live != nullptr && patch != nullptr && is_merge_list(&field)) {
      return merge_lists(std::move(*live), *patch, field);
    }
    Ranks ranks;
    if (live != nullptr) {
      Result<std::vector<std::string>> identities = element_identities(*live, field.merge_key);
      if (!identities) {
        return std::move(identities).error();
      }
      ranks = Ranks(identities.value());
    }
    Result<std::vector<Item>> items = to_items(unmerged_list(live, patch), field.merge_key);
    if (!items) {
      return std::move(items).error();
    }
    return MergedList{std::move(items).value(), std::move(ranks)};
  }

  static Json unmerged_list(Json* live, const Json* patch) {
    if (patch == nullptr) {
      return std::move(*live);
    }
    return live == nullptr ? elements_without_directives(*patch, Nulls::Keep) : *patch;
  }

  Result<void> merge_member(std::string_view key, const Json& value) {
    const bool deletes = is_directive(key, kDeleteFromListPrefix);
    std::string_view name = key;
    if (deletes) {
      const Result<std::string_view> field = directed_field(key, kDeleteFromListPrefix);
      if (!field) {
        return field.error();
      }
      name = field.value();
    }
    if (value.is_null()) {
      target_.erase(name);
      return {};
    }
    Json* original = target_.find(name);
    const bool alike = original != nullptr && type_of(*original) == type_of(value);
    if (deletes) {
      return alike ? delete_from(*original, value, name) : Result<void>();
    }
    if (alike && value.is_structured()) {
      return merge_structured(*original, value, name);
    }
    set_new(name, value);
    return {};
  }

  void set_new(std::string_view name, const Json& value) {
    if (std::optional<Json> clean = without_directives(value, Nulls::Drop); clean) {
      target_.set(name, *std::move(clean));
    } else {
      target_.erase(name);
    }
  }

  Result<void> delete_from(Json& original, const Json& value, std::string_view name) {
    const Field field = field_or_atomic(name);
    if (!value.is_array()) {
      return merge_structured_or_set(original, value, name);
    }
    Result<Json> rest = field.merge_key.empty() ? delete_scalars(std::move(original), value)
                                                : merge_list(std::move(original), value, field);
    return assign(original, std::move(rest));
  }

  // Upstream takes a deletion that is not a list for a plain value.
  Result<void> merge_structured_or_set(Json& original, const Json& value, std::string_view name) {
    if (value.is_object()) {
      return merge_structured(original, value, name);
    }
    original = value;
    return {};
  }

  Result<void> merge_structured(Json& original, const Json& value, std::string_view name) {
    const Field* field = schema_.find(name);
    if (value.is_array()) {
      return is_merge_list(field) ? assign(original, merge_list(std::move(original), value, *field))
                                  : assign(original, Json(value));
    }
    if (field == nullptr) {
      set_new(name, value);
      return {};
    }
    const Schema schema = is_merge_list(field) ? Schema() : field->schema;
    return assign(original, merge_objects(std::move(original), value, schema));
  }

  static Result<Json> merge_list(Json original, const Json& value, const Field& field) {
    Result<MergedList> merged = merge_lists(std::move(original), value, field);
    if (!merged) {
      return std::move(merged).error();
    }
    return to_list(std::move(merged.value().items));
  }

  static Result<void> assign(Json& target, Result<Json> value) {
    if (!value) {
      return std::move(value).error();
    }
    target = std::move(value).value();
    return {};
  }

  ObjectEditor target_;
  const Json& patch_;
  const base::MemberIndex patch_members_;
  const Schema& schema_;
  std::unordered_set<std::string_view> finished_;  // Fields that an order has dealt with.
};

Result<Json> obey(const Json& directive, const Json& patch) {
  if (base::text_of(&directive) == kDelete) {
    return Json::object();
  }
  if (base::text_of(&directive) != kReplace) {
    return base::invalid("an object has an unknown $patch: only delete and replace are known");
  }
  Json replacement = patch;
  replacement.erase(std::string(kPatchDirective));
  return replacement;
}

Result<Json> merge_objects(Json original, const Json& patch, const Schema& schema) {
  if (const Json* directive = base::find(patch, kPatchDirective); directive != nullptr) {
    return obey(*directive, patch);
  }
  return ObjectMerge(std::move(original), patch, schema).run();
}

}  // namespace

Result<Json> apply_strategic(const Json& original, const Json& patch, const Schema& schema) {
  if (!original.is_object() || !patch.is_object()) {
    return base::invalid("a strategic merge patch is an object and is applied to one");
  }
  INJ_TRY(check_depth({&original, &patch}));
  return merge_objects(original, patch, schema);
}

}  // namespace injector::patch
