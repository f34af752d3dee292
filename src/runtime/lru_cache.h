// A map that forgets what was not touched for longest. Not thread-safe.

#pragma once

#include <cstddef>
#include <list>
#include <unordered_map>
#include <utility>

namespace injector::runtime {

template <class Key, class Value>
class LruCache {
 public:
  /// `capacity` is at least one.
  explicit LruCache(std::size_t capacity)
      : capacity_(capacity) {}

  /// Touches and returns the value; null if it is not there. Valid until the next call.
  [[nodiscard]] Value* find(const Key& key) {
    const auto found = places_.find(key);
    if (found == places_.end()) {
      return nullptr;
    }
    entries_.splice(entries_.begin(), entries_, found->second);
    return &found->second->second;
  }

  /// The value of `key`, or `fresh` from now on. Valid until the next call.
  Value& find_or_insert(const Key& key, Value fresh) {
    if (Value* const value = find(key)) {
      return *value;
    }
    if (entries_.size() == capacity_) {
      places_.erase(entries_.back().first);
      entries_.pop_back();
    }
    entries_.emplace_front(key, std::move(fresh));
    places_.emplace(key, entries_.begin());
    return entries_.front().second;
  }

  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

 private:
  using Entries = std::list<std::pair<Key, Value>>;

  std::size_t capacity_;
  Entries entries_;                                             // The most recently touched first.
  std::unordered_map<Key, typename Entries::iterator> places_;  // Of every entry.
};

}  // namespace injector::runtime
