#include "runtime/store.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/check.h"

namespace injector::runtime {
namespace {

bool distinct_names(const std::vector<Index>& indexes) {
  std::set<std::string_view> names;
  return std::all_of(indexes.begin(), indexes.end(),
                     [&](const Index& index) { return names.insert(index.name).second; });
}

template <class Groups, class Entry>
void drop_from(Groups& groups, const std::string& value, Entry entry) {
  const auto group = groups.find(value);
  if (group == groups.end()) {
    return;  // An index may name one value twice.
  }
  group->second.erase(entry);
  if (group->second.empty()) {
    groups.erase(group);
  }
}

template <class Groups>
std::vector<ObjectPtr> members(const Groups& groups, const std::string& value) {
  std::vector<ObjectPtr> objects;
  const auto group = groups.find(value);
  if (group == groups.end()) {
    return objects;
  }
  objects.reserve(group->second.size());
  for (const ObjectPtr* entry : group->second) {
    objects.push_back(*entry);
  }
  return objects;
}

}  // namespace

std::size_t Store::KeyHash::operator()(const KeyView& key) const noexcept {
  const std::hash<std::string_view> hash;
  return hash(key.name) * 31 + hash(key.name_space);
}

std::size_t Store::KeyHash::operator()(const ObjectPtr& object) const noexcept {
  return (*this)(key_view(*object));
}

Store::Store(std::vector<Index> indexes)
    : indexes_(std::move(indexes)),
      contents_(empty_contents()) {
  INJ_CHECK(distinct_names(indexes_));
}

ObjectPtr Store::get(std::string_view key) const {
  const KeyView parts = split_key(key);
  return get(parts.name_space, parts.name);
}

ObjectPtr Store::get(std::string_view name_space, std::string_view name) const {
  const base::MutexLock lock(mutex_);
  const auto found = contents_.objects.find(KeyView{name_space, name});
  return found == contents_.objects.end() ? nullptr : *found;
}

std::vector<ObjectPtr> Store::list() const {
  const base::MutexLock lock(mutex_);
  return {contents_.objects.begin(), contents_.objects.end()};
}

std::vector<ObjectPtr> Store::list_namespace(std::string_view name_space) const {
  const base::MutexLock lock(mutex_);
  return members(contents_.by_namespace, std::string(name_space));
}

std::vector<ObjectPtr> Store::by_index(std::string_view index, const std::string& value) const {
  const auto named = std::find_if(indexes_.begin(), indexes_.end(),
                                  [&](const Index& each) { return each.name == index; });
  INJ_CHECK(named != indexes_.end());
  const auto place = static_cast<std::size_t>(named - indexes_.begin());
  const base::MutexLock lock(mutex_);
  return members(contents_.by_index[place], value);
}

std::size_t Store::size() const {
  const base::MutexLock lock(mutex_);
  return contents_.objects.size();
}

ObjectPtr Store::put(ObjectPtr object) {
  Values values = values_of(*object);
  const base::MutexLock lock(mutex_);
  ObjectPtr before = remove(contents_, key_view(*object));
  insert(contents_, std::move(object), std::move(values));
  return before;
}

ObjectPtr Store::erase(std::string_view key) {
  const base::MutexLock lock(mutex_);
  return remove(contents_, split_key(key));
}

void Store::replace(std::vector<ObjectPtr> objects) {
  Contents contents = empty_contents();
  for (ObjectPtr& object : objects) {
    Values values = values_of(*object);
    remove(contents, key_view(*object));  // The list may hold a key twice: the last one counts.
    insert(contents, std::move(object), std::move(values));
  }
  const base::MutexLock lock(mutex_);
  std::swap(contents_, contents);
}

Store::Values Store::values_of(const Object& object) const {
  Values values;
  values.reserve(indexes_.size());
  for (const Index& index : indexes_) {
    values.push_back(index.values(object));
  }
  return values;
}

Store::Contents Store::empty_contents() const {
  Contents contents;
  contents.by_index.resize(indexes_.size());
  return contents;
}

ObjectPtr Store::remove(Contents& contents, const KeyView& key) {
  const auto found = contents.objects.find(key);
  if (found == contents.objects.end()) {
    return nullptr;
  }
  unfile(contents, &*found);
  return std::move(contents.objects.extract(found).value());
}

void Store::insert(Contents& contents, ObjectPtr object, Values values) {
  const Entry entry = &*contents.objects.insert(std::move(object)).first;
  contents.by_namespace[(*entry)->name_space].insert(entry);
  for (std::size_t place = 0; place < values.size(); ++place) {
    for (const std::string& value : values[place]) {
      contents.by_index[place][value].insert(entry);
    }
  }
  if (!values.empty()) {
    contents.filed.emplace(entry, std::move(values));
  }
}

void Store::unfile(Contents& contents, Entry entry) {
  drop_from(contents.by_namespace, (*entry)->name_space, entry);
  const auto filed = contents.filed.find(entry);
  if (filed == contents.filed.end()) {
    return;
  }
  for (std::size_t place = 0; place < filed->second.size(); ++place) {
    for (const std::string& value : filed->second[place]) {
      drop_from(contents.by_index[place], value, entry);
    }
  }
  contents.filed.erase(filed);
}

}  // namespace injector::runtime
