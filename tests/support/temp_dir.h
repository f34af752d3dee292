// A directory below TMPDIR (or /tmp) that goes away with its owner.

#pragma once

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

namespace injector::tests {

class TempDir {
 public:
  /// Throws std::system_error if the directory cannot be made. Only the user may read it.
  TempDir() {
    std::string name =
        (std::filesystem::temp_directory_path() / "envoy-initializer-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      throw std::system_error(errno, std::generic_category(), "mkdtemp " + name);
    }
    path_ = name;
  }

  ~TempDir() {
    std::error_code ignored;  // A child may be writing still; there is nobody to tell.
    std::filesystem::remove_all(path_, ignored);
  }

  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

  [[nodiscard]] std::string file(std::string_view name) const { return (path_ / name).string(); }

  /// Writes the file in place, as `echo >` does, and returns its path. Throws std::system_error if
  /// it cannot.
  std::string write(std::string_view name, std::string_view text) const {
    const std::string path = file(name);
    std::ofstream out(path, std::ios::binary);
    out << text << std::flush;
    if (!out) {
      throw std::system_error(errno, std::generic_category(), "write " + path);
    }
    return path;
  }

  /// As editors do: a new file, renamed over the old one.
  void replace(const std::string& name, std::string_view text) const {
    std::filesystem::rename(write(name + ".new", text), file(name));
  }

 private:
  std::filesystem::path path_;
};

}  // namespace injector::tests
