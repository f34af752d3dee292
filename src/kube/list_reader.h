// A list of objects read as it comes in: each item is handed out when its last byte is there, so
// that neither the list's text nor the tree of all of it is ever held.
//
// Used by one thread at a time.

#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace injector::kube {

struct ListMetadata {
  std::string resource_version;
  std::string continue_token;  // Empty on the last page.
};

class ListReader {
 public:
  using Visit = std::function<void(base::Json item)>;

  /// An item larger than `max_item` bytes, or a list that has more than that around its items, is
  /// an error.
  ListReader(std::size_t max_item, Visit visit);

  /// The next bytes of the list, in any pieces. All errors are Internal.
  [[nodiscard]] base::Result<void> take(std::string_view text);

  /// There are no more bytes: checks what was around the items.
  [[nodiscard]] base::Result<ListMetadata> finish() const;

 private:
  enum class Items { NotSeen, Name, Colon, Inside, Behind };  // Where we are in "items": [...]

  void open_bracket(char bracket) noexcept;
  void close_bracket() noexcept;
  void see_outside_string(char byte) noexcept;
  [[nodiscard]] base::Result<void> keep(std::string_view text);
  [[nodiscard]] base::Result<void> end_item();

  const std::size_t max_item_;
  const Visit visit_;
  std::string frame_;  // The list, with 0 in the place of each item.
  std::string item_;   // The one that has begun.
  std::size_t count_ = 0;
  int depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
  bool in_item_ = false;
  Items items_ = Items::NotSeen;
};

}  // namespace injector::kube
