#include "runtime/store.h"

#include <utility>

namespace injector::runtime {

std::size_t Store::KeyHash::operator()(const KeyView& key) const noexcept {
  const std::hash<std::string_view> hash;
  return hash(key.name) * 31 + hash(key.name_space);
}

std::size_t Store::KeyHash::operator()(const ObjectPtr& object) const noexcept {
  return (*this)(key_view(*object));
}

ObjectPtr Store::get(std::string_view key) const {
  const KeyView parts = split_key(key);
  return get(parts.name_space, parts.name);
}

ObjectPtr Store::get(std::string_view name_space, std::string_view name) const {
  const base::MutexLock lock(mutex_);
  const auto found = objects_.find(KeyView{name_space, name});
  return found == objects_.end() ? nullptr : *found;
}

std::vector<ObjectPtr> Store::list() const {
  const base::MutexLock lock(mutex_);
  return {objects_.begin(), objects_.end()};
}

std::vector<ObjectPtr> Store::list_namespace(std::string_view name_space) const {
  const base::MutexLock lock(mutex_);
  std::vector<ObjectPtr> objects;
  const auto group = by_namespace_.find(std::string(name_space));
  if (group == by_namespace_.end()) {
    return objects;
  }
  objects.reserve(group->second.size());
  for (const Entry entry : group->second) {
    objects.push_back(*entry);
  }
  return objects;
}

std::size_t Store::size() const {
  const base::MutexLock lock(mutex_);
  return objects_.size();
}

ObjectPtr Store::put(ObjectPtr object) {
  const base::MutexLock lock(mutex_);
  ObjectPtr before = remove(key_view(*object));
  const Entry entry = &*objects_.insert(std::move(object)).first;
  by_namespace_[(*entry)->name_space].insert(entry);
  return before;
}

ObjectPtr Store::erase(std::string_view key) {
  const base::MutexLock lock(mutex_);
  return remove(split_key(key));
}

ObjectPtr Store::remove(const KeyView& key) {
  const auto found = objects_.find(key);
  if (found == objects_.end()) {
    return nullptr;
  }
  const auto group = by_namespace_.find((*found)->name_space);
  group->second.erase(&*found);
  if (group->second.empty()) {
    by_namespace_.erase(group);
  }
  return std::move(objects_.extract(found).value());
}

}  // namespace injector::runtime
