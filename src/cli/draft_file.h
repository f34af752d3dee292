// The new content of a file, which waits beside it until it is put in its place: in a file without
// a name where the file system knows such, so that a kill leaves nothing behind; else in a named
// one, which the next run removes; else, where the directory may not be written to, in memory.
//
// Not thread-safe.

#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

#include "base/file_descriptor.h"
#include "base/result.h"

namespace injector::cli {

class DraftFile {
 public:
  DraftFile() = default;  // None.
  DraftFile(DraftFile&& other) noexcept;
  DraftFile& operator=(DraftFile&& other) noexcept;
  DraftFile(const DraftFile&) = delete;
  DraftFile& operator=(const DraftFile&) = delete;

  ~DraftFile() { remove_name(); }

  [[nodiscard]] static base::Result<DraftFile> open_beside(const std::filesystem::path& target);

  [[nodiscard]] bool write(std::string_view text);

  /// The content is on the disk after that.
  [[nodiscard]] bool sync();

  /// Makes the content that of `target`, which `opened` is. A new file of the same owner and mode
  /// takes its place; one with other hard links or extended attributes, or of an owner that we may
  /// not give away, is overwritten instead, so that it stays the same file.
  [[nodiscard]] base::Result<void> put_in_place(const std::filesystem::path& target,
                                                const base::FileDescriptor& opened);

 private:
  enum class Place { Unnamed, Named, InMemory };

  [[nodiscard]] bool takes_over(const base::FileDescriptor& opened);
  void remove_name();

  Place place_ = Place::Unnamed;
  std::filesystem::path name_;  // Of one that has a name.
  base::FileDescriptor file_;
};

/// Removes what killed runs left in `directory`.
void remove_old_drafts(const std::filesystem::path& directory);

/// Calls `take` with the content from its start, block by block; false if it cannot be read.
[[nodiscard]] bool read_blocks(const base::FileDescriptor& file,
                               const std::function<bool(std::string_view block)>& take);

/// "replace PATH: No space left on device", by errno's value.
[[nodiscard]] base::Error file_failure(std::string_view what, const std::filesystem::path& path,
                                       int reason);

}  // namespace injector::cli
