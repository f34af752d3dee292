#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "patch/directives.h"
#include "patch/limits.h"
#include "patch/list_merge.h"
#include "patch/list_order.h"
#include "patch/object_editor.h"
#include "patch/strategic_merge.h"

namespace injector::patch {
namespace {

using base::Json;
using base::Result;

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
    for (const auto& [key, value] : members_of(patch_)) {
      if (!is_directive(key, kSetElementOrderPrefix)) {
        continue;
      }
      if (Result<void> done = set_element_order(key, value); !done) {
        return base::annotate(done.error(), key);
      }
    }
    for (const auto& [key, value] : members_of(patch_)) {
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
    for (const auto& [key, value] : members_of(patch_)) {
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

}  // namespace

Result<Json> merge_objects(Json original, const Json& patch, const Schema& schema) {
  if (const Json* directive = base::find(patch, kPatchDirective); directive != nullptr) {
    return obey(*directive, patch);
  }
  return ObjectMerge(std::move(original), patch, schema).run();
}

Result<Json> apply_strategic(const Json& original, const Json& patch, const Schema& schema) {
  if (!original.is_object() || !patch.is_object()) {
    return base::invalid("a strategic merge patch is an object and is applied to one");
  }
  INJ_TRY(check_depth({&original, &patch}));
  return merge_objects(original, patch, schema);
}

}  // namespace injector::patch
