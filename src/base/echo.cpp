#include "base/echo.h"

#include <algorithm>

#include "base/printable.h"

namespace injector::base {
namespace {

// ASCII that can be repeated as it is: what names and identifiers consist of.
bool is_short_and_plain(std::string_view value) {
  return value.size() <= kEchoLimit &&
         std::all_of(value.begin(), value.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

}  // namespace

Echo::Echo(std::string_view value)
    : copy_(is_short_and_plain(value) ? std::string() : echoed(value)),
      text_(copy_.empty() ? value : copy_) {}

}  // namespace injector::base
