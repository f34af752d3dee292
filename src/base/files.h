// Files read and written whole. All functions may be called from any thread. Errors name the file;
// NotFound where there is none.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace injector::base {

/// Larger files are an error.
inline constexpr std::size_t kMaxFile = std::size_t{16} << 20U;

/// The content. Takes pipes as well: `--kubeconfig <(command)` is a way to give one.
[[nodiscard]] Result<std::string> read_file(const std::string& path, std::size_t limit = kMaxFile);

/// The same for regular files only. It never waits: a FIFO in the file's place is an error.
[[nodiscard]] Result<std::string> read_regular_file(const std::string& path,
                                                    std::size_t limit = kMaxFile);

/// Makes or overwrites the file.
[[nodiscard]] Result<void> write_file(const std::string& path, std::string_view text);

/// Makes `text` the content of `path` in one step: a reader, and whoever comes after a crash, finds
/// the old content or the new. The new content waits in "<path>.new" until it is on the disk, so
/// one thread at a time may replace a path.
[[nodiscard]] Result<void> replace_file(const std::string& path, std::string_view text);

/// Writes all of `text` to an open file. False: errno says why not.
[[nodiscard]] bool write_all(int fd, std::string_view text);

}  // namespace injector::base
