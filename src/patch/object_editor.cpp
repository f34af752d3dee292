#include "patch/object_editor.h"

#include <utility>

#include "base/check.h"

namespace injector::patch {

using base::Json;

ObjectEditor::ObjectEditor(Json object, std::size_t additions) {
  members_.reserve(object.size() + additions);
  index_.reserve(object.size() + additions);
  if (!object.is_object()) {
    return;
  }
  for (auto& [key, value] : object.get_ref<Json::object_t&>()) {
    append(key, std::move(value));
  }
}

ObjectEditor::Member* ObjectEditor::lookup(std::string_view key) {
  const auto found = index_.find(key);
  return found == index_.end() ? nullptr : &members_[found->second];
}

void ObjectEditor::append(std::string key, Json value) {
  INJ_CHECK(members_.size() < members_.capacity());
  members_.push_back(Member{std::move(key), std::move(value)});
  index_.emplace(members_.back().key, members_.size() - 1);
}

Json* ObjectEditor::find(std::string_view key) {
  Member* member = lookup(key);
  return member == nullptr || !member->present ? nullptr : &member->value;
}

void ObjectEditor::set(std::string_view key, Json value) {
  Member* member = lookup(key);
  if (member == nullptr) {
    append(std::string(key), std::move(value));
    return;
  }
  member->value = std::move(value);
  member->present = true;
}

void ObjectEditor::erase(std::string_view key) {
  if (Member* member = lookup(key); member != nullptr) {
    member->present = false;
  }
}

Json ObjectEditor::take() && {
  Json object = Json::object();
  for (Member& member : members_) {
    if (member.present) {
      base::append_member(object, std::move(member.key), std::move(member.value));
    }
  }
  return object;
}

}  // namespace injector::patch
