// Replaces files by what is written, all or none: each new content waits in a temporary file beside
// its target, and only commit() renames them. A replaced file keeps its mode; one that would not
// change is not touched. Destroying an uncommitted replacer removes the temporary files.
//
// Not thread-safe.

#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace injector::cli {

class FileReplacer {
 public:
  FileReplacer() = default;
  FileReplacer(const FileReplacer&) = delete;
  FileReplacer& operator=(const FileReplacer&) = delete;
  ~FileReplacer();

  /// Begins the new content of `path`; a symbolic link is followed, so that it stays one.
  [[nodiscard]] base::Result<void> open(const std::string& path);
  void write(std::string_view text);
  [[nodiscard]] base::Result<void> close();

  [[nodiscard]] base::Result<void> commit();

 private:
  struct Replacement {
    std::filesystem::path target;
    std::filesystem::path temporary;
  };

  std::ofstream out_;
  std::vector<Replacement> waiting_;
};

}  // namespace injector::cli
