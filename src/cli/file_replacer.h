// Replaces files by what is written, all or none: each new content waits in a draft (draft_file.h),
// and only commit() puts them in place. Until then, and if the process is killed, nothing is left
// behind; what a kill in the middle of commit() leaves is removed by the next run.
//
// The content is on the disk before a file is replaced. A file that would not change is not
// touched, and one that somebody changed after it was read is not replaced.
//
// Not thread-safe.

#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/draft_file.h"

namespace injector::cli {

/// Enough to see that two contents differ.
class ContentMark {
 public:
  void add(std::string_view text);
  [[nodiscard]] bool operator==(const ContentMark& other) const = default;

 private:
  std::uint64_t hash_ = 14695981039346656037U;
  std::uint64_t size_ = 0;
};

class FileReplacer {
 public:
  FileReplacer() = default;
  FileReplacer(const FileReplacer&) = delete;
  FileReplacer& operator=(const FileReplacer&) = delete;

  /// Begins the new content of `path`; a symbolic link is followed, so that it stays one.
  [[nodiscard]] base::Result<void> open(const std::string& path);

  /// The old content as it was read, and the new one, piece by piece.
  void saw(std::string_view text);
  void write(std::string_view text);
  [[nodiscard]] base::Result<void> close();

  [[nodiscard]] base::Result<void> commit();

  /// After commit(), also after one that failed: was the file replaced?
  [[nodiscard]] bool replaced(const std::string& path) const { return replaced_.contains(path); }

  [[nodiscard]] std::size_t replaced_count() const { return replaced_.size(); }

 private:
  struct Replacement {
    std::string path;  // As it was given.
    std::filesystem::path target;
    DraftFile draft;
    ContentMark before;
    ContentMark after;
  };

  void flush();

  Replacement current_;  // The one that is being written.
  std::string buffer_;   // Its end.
  bool failed_ = false;
  std::vector<Replacement> waiting_;
  std::set<std::string> replaced_;
  std::set<std::filesystem::path> cleaned_;  // Directories that hold no old drafts any more.
};

}  // namespace injector::cli
