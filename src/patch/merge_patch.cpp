#include "patch/merge_patch.h"

#include <utility>

#include "patch/limits.h"
#include "patch/object_editor.h"

namespace injector::patch {
namespace {

using base::Json;

Json merged(Json target, const Json& patch) {
  if (!patch.is_object()) {
    return patch;
  }
  ObjectEditor editor(target.is_object() ? std::move(target) : Json::object(), patch.size());
  for (const auto& [key, value] : patch.get_ref<const Json::object_t&>()) {
    if (value.is_null()) {
      editor.erase(key);
      continue;
    }
    Json* old = editor.find(key);
    editor.set(key, merged(old == nullptr ? Json() : std::move(*old), value));
  }
  return std::move(editor).take();
}

void note_removed(const Json& original, const base::MemberIndex& modified, Json& patch) {
  for (const auto& [key, value] : original.items()) {
    if (modified.find(key) == nullptr) {
      base::append_member(patch, key, Json());
    }
  }
}

}  // namespace

Json diff_merge_patch(const Json& original, const Json& modified) {
  Json patch = Json::object();
  const base::MemberIndex before(original);
  note_removed(original, base::MemberIndex(modified), patch);
  for (const auto& [key, value] : modified.items()) {
    const Json* old = before.find(key);
    if (old == nullptr || old->is_object() != value.is_object()) {
      base::append_member(patch, key, value);
    } else if (!base::same(*old, value)) {
      base::append_member(patch, key, value.is_object() ? diff_merge_patch(*old, value) : value);
    }
  }
  return patch;
}

base::Result<Json> apply_merge_patch(const Json& document, const Json& patch) {
  INJ_TRY(check_depth({&document, &patch}));
  return merged(document, patch);
}

}  // namespace injector::patch
