// A folder of its own for a test, removed with everything in it.

#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace injector::tests {

class TempFolder {
 public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "inj-test-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }

  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  [[nodiscard]] std::string path(const std::string& name) const { return (path_ / name).string(); }

  /// In place, as `echo >` does.
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(path(name), std::ios::binary) << content;
  }

  /// As editors do: a new file, renamed over the old one.
  void replace(const std::string& name, const std::string& content) const {
    write(name + ".new", content);
    std::filesystem::rename(path(name + ".new"), path(name));
  }

 private:
  std::filesystem::path path_;
};

}  // namespace injector::tests
