// Replaces files by what is written, all or none: each new content waits in a temporary file
// without a name beside its target, and only commit() puts them in place. Until then, and if the
// process is killed, nothing is left behind; what a kill in the middle of commit() leaves is
// removed by the next run.
//
// A replaced file keeps its owner and its mode; one that would not change is not touched. A file
// with other hard links or with extended attributes, of an owner that we may not give it, or in a
// directory that we may not write to, is overwritten instead, so that it stays the same file.
// The content is on the disk before a file is replaced. A file that somebody changed after it was
// read is not replaced.
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

#include "base/file_descriptor.h"
#include "base/result.h"

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
  ~FileReplacer();

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
  // Where new content waits.
  enum class Place {
    Unnamed,    // In the target's directory, without a name.
    Named,      // There as well, where the file system knows no files without a name.
    Elsewhere,  // In memory: the directory may not be written to.
  };

  struct Draft {
    std::string path;  // As it was given.
    std::filesystem::path target;
    Place place = Place::Unnamed;
    std::filesystem::path name;  // Of a Named one.
    base::FileDescriptor file;
    ContentMark before;
    ContentMark after;
  };

  [[nodiscard]] base::Result<void> open_draft(Draft& draft);
  static void remove_name(Draft& draft);
  void flush();
  [[nodiscard]] static base::Result<void> put_in_place(Draft& draft);

  Draft draft_;         // The one that is being written.
  std::string buffer_;  // Its end.
  bool failed_ = false;
  std::vector<Draft> waiting_;
  std::set<std::string> replaced_;
  std::set<std::filesystem::path> cleaned_;  // Directories that hold no old drafts any more.
};

}  // namespace injector::cli
