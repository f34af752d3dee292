// The local copy of one kind of object: by key, by namespace, and by the indexes given at
// construction. It promises:
//   - a reader sees each object whole, old or new, and may keep what it got for as long as it
//   likes;
//   - an index never disagrees with the objects, not even for the time of one call;
//   - replace() is one step: no reader sees half of a new list.
//
// `const Store&` is the half for readers; only the informer that fills it holds the other half.
// Every method may be called from any thread.

#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/mutex.h"
#include "runtime/object.h"

namespace injector::runtime {

/// Files objects under any number of values. `values` must be pure; it is called without a lock.
struct Index {
  std::string name;
  std::function<std::vector<std::string>(const Object&)> values;
};

class Store {
 public:
  explicit Store(std::vector<Index> indexes = {});

  // For readers. Lists come in no particular order.

  /// Null if there is none.
  [[nodiscard]] ObjectPtr get(std::string_view key) const INJ_EXCLUDES(mutex_);
  [[nodiscard]] ObjectPtr get(std::string_view name_space, std::string_view name) const
      INJ_EXCLUDES(mutex_);
  [[nodiscard]] std::vector<ObjectPtr> list() const INJ_EXCLUDES(mutex_);
  [[nodiscard]] std::vector<ObjectPtr> list_namespace(std::string_view name_space) const
      INJ_EXCLUDES(mutex_);
  /// Empty if nothing is filed under `value`. An unknown `index` is a bug.
  [[nodiscard]] std::vector<ObjectPtr> by_index(std::string_view index,
                                                const std::string& value) const
      INJ_EXCLUDES(mutex_);
  [[nodiscard]] std::size_t size() const INJ_EXCLUDES(mutex_);

  // For the writer.

  /// Adds `object` or replaces the one with its key; returns the one before, or null.
  ObjectPtr put(ObjectPtr object) INJ_EXCLUDES(mutex_);
  /// Returns what was removed, or null.
  ObjectPtr erase(std::string_view key) INJ_EXCLUDES(mutex_);
  /// Forgets everything and keeps `objects`.
  void replace(std::vector<ObjectPtr> objects) INJ_EXCLUDES(mutex_);

 private:
  // Looks objects up by the key inside them, so that no key is stored twice.
  struct KeyHash {
    using is_transparent = void;  // NOLINT(readability-identifier-naming): the name of std.
    std::size_t operator()(const KeyView& key) const noexcept;
    std::size_t operator()(const ObjectPtr& object) const noexcept;
  };

  struct KeyEqual {
    using is_transparent = void;  // NOLINT(readability-identifier-naming): the name of std.

    template <class Left, class Right>
    bool operator()(const Left& left, const Right& right) const noexcept {
      return view(left) == view(right);
    }

    static KeyView view(const KeyView& key) noexcept { return key; }

    static KeyView view(const ObjectPtr& object) noexcept { return key_view(*object); }
  };

  using Objects = std::unordered_set<ObjectPtr, KeyHash, KeyEqual>;
  using Entry = const ObjectPtr*;                         // An element of Objects: it stays put.
  using Group = std::unordered_set<Entry>;                // Never empty.
  using Groups = std::unordered_map<std::string, Group>;  // By the value they share.
  using Values = std::vector<std::vector<std::string>>;   // One list an index, in their order.

  struct Contents {
    Objects objects;
    Groups by_namespace;
    std::vector<Groups> by_index;             // As long as indexes_.
    std::unordered_map<Entry, Values> filed;  // Where each is in by_index; empty without indexes.
  };

  [[nodiscard]] Values values_of(const Object& object) const;
  [[nodiscard]] Contents empty_contents() const;
  static ObjectPtr remove(Contents& contents, const KeyView& key);
  static void insert(Contents& contents, ObjectPtr object, Values values);
  static void unfile(Contents& contents, Entry entry);

  const std::vector<Index> indexes_;  // No two with one name.

  mutable base::Mutex mutex_;
  Contents contents_ INJ_GUARDED_BY(mutex_);
};

}  // namespace injector::runtime
