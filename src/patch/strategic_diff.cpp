#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "patch/directives.h"
#include "patch/limits.h"
#include "patch/list_order.h"
#include "patch/strategic_merge.h"

namespace injector::patch {
namespace {

using base::Error;
using base::Json;
using base::Result;

Result<Json> diff_objects(const Json& original, const Json& modified, const Schema& schema,
                          bool retain_keys);

// A key with a dollar sign may be there already, from a document that contains directives.
void put(Json& patch, const std::string& key, Json value) {
  if (key.starts_with('$')) {
    patch[key] = std::move(value);
  } else {
    base::append_member(patch, key, std::move(value));
  }
}

void put_unless_empty(Json& patch, const std::string& key, Json value) {
  if (!value.empty()) {
    put(patch, key, std::move(value));
  }
}

struct ListDiff {
  Json changes = Json::array();    // Goes into the field itself.
  Json deletions = Json::array();  // $deleteFromPrimitiveList.
  Json order = Json::array();      // $setElementOrder.
};

// --- Lists of scalars

struct ScalarChanges {
  std::vector<Item> added;
  std::vector<Item> removed;
};

// Both sides sorted by text; equal texts are equal values, since all elements have one type.
ScalarChanges zip_scalars(const std::vector<Item>& before, const std::vector<Item>& after) {
  ScalarChanges changes;
  auto left = before.begin();
  auto right = after.begin();
  while (left != before.end() || right != after.end()) {
    if (right == after.end() || (left != before.end() && left->identity < right->identity)) {
      changes.removed.push_back(*left++);
    } else if (left == before.end() || right->identity < left->identity) {
      changes.added.push_back(*right++);
    } else {
      ++left;
      ++right;
    }
  }
  return changes;
}

std::vector<Item> sorted_scalars(const Json& list) {
  std::vector<Item> items;
  items.reserve(list.size());
  for (const Json& element : list) {
    items.push_back(Item{identity_of(element), element});
  }
  std::sort(items.begin(), items.end(),
            [](const Item& left, const Item& right) { return left.identity < right.identity; });
  return items;
}

ListDiff diff_scalars(const Json& original, const Json& modified) {
  const std::vector<Item> before = sorted_scalars(original);
  ScalarChanges changes = zip_scalars(before, sorted_scalars(modified));
  std::vector<std::string> places;
  std::transform(modified.begin(), modified.end(), std::back_inserter(places), identity_of);
  sort_by_rank(changes.added, Ranks(places));
  // Upstream sorts the original in place before it asks whether the order changed, so an unsorted
  // list always gets an order, and one that becomes sorted gets none.
  const bool same_order =
      std::equal(before.begin(), before.end(), places.begin(), places.end(),
                 [](const Item& item, const std::string& place) { return item.identity == place; });
  ListDiff diff;
  diff.changes = to_list(std::move(changes.added));
  diff.deletions = to_list(without_duplicates(std::move(changes.removed)));
  if (!same_order) {
    diff.order = modified;
  }
  return diff;
}

// --- Lists of objects

class ObjectListDiff {
 public:
  ObjectListDiff(const Json& original, const Json& modified, const Field& field)
      : original_(original),
        modified_(modified),
        field_(field) {}

  [[nodiscard]] Result<ListDiff> run() {
    INJ_TRY(read_identities());
    INJ_TRY(zip());
    sort_by_rank(changed_, Ranks(after_));
    ListDiff diff;
    diff.changes = to_list(std::move(changed_));
    std::move(deleted_.begin(), deleted_.end(), std::back_inserter(diff.changes));
    if (!diff.changes.empty() || before_ != after_) {
      diff.order = order();
    }
    return diff;
  }

 private:
  Result<void> read_identities() {
    INJ_ASSIGN(auto before, element_identities(original_, field_.merge_key));
    INJ_ASSIGN(auto after, element_identities(modified_, field_.merge_key));
    before_ = std::move(before);
    after_ = std::move(after);
    return {};
  }

  Result<void> zip() {
    const std::vector<std::size_t> left = sorted_by_text(before_);
    const std::vector<std::size_t> right = sorted_by_text(after_);
    std::size_t at_left = 0;
    std::size_t at_right = 0;
    while (at_left < left.size() || at_right < right.size()) {
      const int side = at_left == left.size()     ? 1
                       : at_right == right.size() ? -1
                                                  : compare(left[at_left], right[at_right]);
      if (side < 0) {
        removed(left[at_left++]);
      } else if (side > 0) {
        added(right[at_right++]);
      } else if (Result<void> done = changed(left[at_left++], right[at_right++]); !done) {
        return done;
      }
    }
    return {};
  }

  [[nodiscard]] int compare(std::size_t left, std::size_t right) const {
    return text_of(before_[left]).compare(text_of(after_[right]));
  }

  void removed(std::size_t index) {
    Json deletion = Json::object();
    deletion[kPatchDirective] = kDelete;
    deletion[field_.merge_key] = *base::find(original_[index], field_.merge_key);
    deleted_.push_back(std::move(deletion));
  }

  void added(std::size_t index) { changed_.push_back(Item{after_[index], modified_[index]}); }

  Result<void> changed(std::size_t left, std::size_t right) {
    const Json& element = modified_[right];
    Result<Json> patch = diff_objects(original_[left], element, field_.schema, field_.retain_keys);
    if (!patch) {
      return base::annotate(std::move(patch).error(), text_of(after_[right]));
    }
    if (!patch.value().empty()) {
      changed_.push_back(Item{after_[right], keyed(std::move(patch).value(), element)});
    }
    return {};
  }

  // The key comes first, where a reader looks for it.
  [[nodiscard]] Json keyed(Json patch, const Json& element) const {
    Json result = Json::object();
    result[field_.merge_key] = *base::find(element, field_.merge_key);
    for (auto& [key, value] : patch.get_ref<Json::object_t&>()) {
      if (key != field_.merge_key) {
        base::append_member(result, key, std::move(value));
      }
    }
    return result;
  }

  [[nodiscard]] Json order() const {
    Json keys = Json::array();
    for (const Json& element : modified_) {
      Json key = Json::object();
      key[field_.merge_key] = *base::find(element, field_.merge_key);
      keys.push_back(std::move(key));
    }
    return keys;
  }

  const Json& original_;
  const Json& modified_;
  const Field& field_;
  std::vector<std::string> before_;  // Identities of original_ and modified_.
  std::vector<std::string> after_;
  std::vector<Item> changed_;
  std::vector<Json> deleted_;
};

Result<ListDiff> diff_lists(const Json& original, const Json& modified, const Field& field) {
  ListDiff diff;
  if (original.empty()) {
    diff.changes = modified;
    return diff;
  }
  const Result<ValueType> type = element_type(original, modified);
  if (!type) {
    return type.error();
  }
  if (type.value() != ValueType::Object) {
    return diff_scalars(original, modified);
  }
  if (field.merge_key.empty()) {
    return base::invalid("a list of scalars has elements that are objects");
  }
  return ObjectListDiff(original, modified, field).run();
}

// --- Members

Result<void> diff_list_member(const std::string& key, const Json& original, const Json& modified,
                              const Field& field, Json& patch) {
  Result<ListDiff> diff = diff_lists(original, modified, field);
  if (!diff) {
    return std::move(diff).error();
  }
  ListDiff& found = diff.value();
  put_unless_empty(patch, directive_for(kSetElementOrderPrefix, key), std::move(found.order));
  put_unless_empty(patch, directive_for(kDeleteFromListPrefix, key), std::move(found.deletions));
  put_unless_empty(patch, key, std::move(found.changes));
  return {};
}

Result<void> diff_object_member(const std::string& key, const Json& original, const Json& modified,
                                const Field& field, Json& patch) {
  // Where a list should be there may be an object; its members then have no schema.
  const Schema schema = is_merge_list(&field) ? Schema() : field.schema;
  Result<Json> changes = diff_objects(original, modified, schema, field.retain_keys);
  if (!changes) {
    return std::move(changes).error();
  }
  put_unless_empty(patch, key, std::move(changes).value());
  return {};
}

Result<void> diff_patch_directive(const Json& original, const Json& modified, Json& patch) {
  if (!original.is_string() || !modified.is_string()) {
    return base::invalid("the value of $patch is not a string");
  }
  if (original != modified) {
    put(patch, std::string(kPatchDirective), modified);
  }
  return {};
}

// A member that both sides have.
Result<void> diff_member(const std::string& key, const Json& original, const Json& modified,
                         const Schema& schema, Json& patch) {
  if (key == kPatchDirective) {
    return diff_patch_directive(original, modified, patch);
  }
  const Field* field = type_of(original) == type_of(modified) ? schema.find(key) : nullptr;
  if (field != nullptr && original.is_object()) {
    return diff_object_member(key, original, modified, *field, patch);
  }
  if (is_merge_list(field) && original.is_array()) {
    return diff_list_member(key, original, modified, *field, patch);
  }
  if (!base::same(original, modified)) {
    put(patch, key, modified);
  }
  return {};
}

void put_removals(const Json& original, const Json& modified, Json& patch) {
  const base::MemberIndex after(modified);
  for (const auto& [key, value] : members_of(original)) {
    if (after.find(key) == nullptr) {
      put(patch, key, nullptr);
    }
  }
}

void put_retain_keys(const Json& modified, Json& patch) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : members_of(modified)) {
    if (!value.is_null()) {
      keys.push_back(key);
    }
  }
  std::sort(keys.begin(), keys.end());
  put_unless_empty(patch, std::string(kRetainKeysDirective), Json(std::move(keys)));
}

Result<Json> diff_objects(const Json& original, const Json& modified, const Schema& schema,
                          bool retain_keys) {
  Json patch = Json::object();
  const base::MemberIndex before(original);
  for (const auto& [key, value] : members_of(modified)) {
    const Json* old = before.find(key);
    if (old == nullptr) {
      put(patch, key, value);
    } else if (Result<void> done = diff_member(key, *old, value, schema, patch); !done) {
      return base::annotate(done.error(), key);
    }
  }
  put_removals(original, modified, patch);
  if (retain_keys && !patch.empty()) {
    put_retain_keys(modified, patch);
  }
  return patch;
}

}  // namespace

Result<Json> two_way_merge_patch(const Json& original, const Json& modified, const Schema& schema) {
  if (!original.is_object() || !modified.is_object()) {
    return base::invalid("a strategic merge patch is made between two objects");
  }
  INJ_TRY(check_depth({&original, &modified}));
  return diff_objects(original, modified, schema, false);
}

}  // namespace injector::patch
