// Edits one JSON object in constant time a member, where ordered_json searches and shifts: patches
// of twenty thousand keys must not take quadratic time.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json.h"

namespace injector::patch {

class ObjectEditor {
 public:
  /// Takes over `object` (anything else counts as empty). At most `additions` keys will be new.
  ObjectEditor(base::Json object, std::size_t additions);

  [[nodiscard]] base::Json* find(std::string_view key);
  void set(std::string_view key, base::Json value);
  void erase(std::string_view key);

  /// Erases every member whose key does not pass.
  template <class Predicate>
  void keep_if(Predicate passes) {
    for (Member& member : members_) {
      member.present = member.present && passes(std::string_view(member.key));
    }
  }

  /// The object: members in their old order, new ones at the end.
  [[nodiscard]] base::Json take() &&;

 private:
  struct Member {
    std::string key;
    base::Json value;
    bool present = true;
  };

  [[nodiscard]] Member* lookup(std::string_view key);
  void append(std::string key, base::Json value);

  std::vector<Member> members_;  // Never reallocates: index_ points to the keys.
  std::unordered_map<std::string_view, std::size_t> index_;
};

}  // namespace injector::patch
