// echoed() of base/printable.h for hot paths.

#pragma once

#include <string>
#include <string_view>

namespace injector::base {

/// A value as a message may repeat it, without a copy where that is the value itself, as nearly
/// always.
class Echo {
 public:
  explicit Echo(std::string_view value);
  Echo(const Echo&) = delete;
  Echo& operator=(const Echo&) = delete;
  ~Echo() = default;

  /// Valid as long as both this and the value are.
  [[nodiscard]] std::string_view text() const noexcept { return text_; }

 private:
  std::string copy_;
  std::string_view text_;
};

}  // namespace injector::base
