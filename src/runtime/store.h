// The local copy of one kind of object, by key and by namespace. A reader sees each object whole,
// old or new, and may keep what it got for as long as it likes.
//
// `const Store&` is the half for readers; only the informer that fills it holds the other half.
// Every method may be called from any thread.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/mutex.h"
#include "runtime/object.h"

namespace injector::runtime {

class Store {
 public:
  // For readers. Lists come in no particular order.

  /// Null if there is none.
  [[nodiscard]] ObjectPtr get(std::string_view key) const INJ_EXCLUDES(mutex_);
  [[nodiscard]] ObjectPtr get(std::string_view name_space, std::string_view name) const
      INJ_EXCLUDES(mutex_);
  [[nodiscard]] std::vector<ObjectPtr> list() const INJ_EXCLUDES(mutex_);
  [[nodiscard]] std::vector<ObjectPtr> list_namespace(std::string_view name_space) const
      INJ_EXCLUDES(mutex_);
  [[nodiscard]] std::size_t size() const INJ_EXCLUDES(mutex_);

  // For the writer.

  /// Adds `object` or replaces the one with its key; returns the one before, or null.
  ObjectPtr put(ObjectPtr object) INJ_EXCLUDES(mutex_);
  /// Returns what was removed, or null.
  ObjectPtr erase(std::string_view key) INJ_EXCLUDES(mutex_);

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
  using Entry = const ObjectPtr*;           // An element of Objects: it stays where it is.
  using Group = std::unordered_set<Entry>;  // Never empty.

  [[nodiscard]] ObjectPtr remove(const KeyView& key) INJ_REQUIRES(mutex_);

  mutable base::Mutex mutex_;
  Objects objects_ INJ_GUARDED_BY(mutex_);
  std::unordered_map<std::string, Group> by_namespace_ INJ_GUARDED_BY(mutex_);
};

}  // namespace injector::runtime
