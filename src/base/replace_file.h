// Files written whole.

#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace injector::base {

/// Writes the whole text; false if that fails, errno says why.
[[nodiscard]] bool write_all(int fd, std::string_view text);

/// Makes `text` the content of `path` in one step: a reader, and whoever comes after a crash, finds
/// the old content or the new. The new one waits in "<path>.new" until it is on the disk, so one
/// thread at a time may replace a path.
[[nodiscard]] Result<void> replace_file(const std::string& path, std::string_view text);

}  // namespace injector::base
