#include "cli/inputs.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <istream>
#include <sstream>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

namespace injector::cli {
namespace {

namespace fs = std::filesystem;

bool is_manifest(const fs::path& path) {
  constexpr std::array<std::string_view, 3> kEndings = {".yaml", ".yml", ".json"};
  return std::find(kEndings.begin(), kEndings.end(), path.extension().string()) != kEndings.end();
}

// Symbolic links to directories are not followed: they may lead in circles.
template <class Iterator>
std::vector<std::string> manifests_below(const fs::path& directory, std::error_code& error) {
  std::vector<std::string> files;
  for (Iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    if (is_manifest(it->path()) && it->is_regular_file(error)) {
      files.push_back(it->path().string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

base::Result<std::vector<std::string>> files_of(const fs::path& directory, Recursion recursion) {
  std::error_code error;
  const bool deep = recursion == Recursion::Yes;
  std::vector<std::string> files =
      deep ? manifests_below<fs::recursive_directory_iterator>(directory, error)
           : manifests_below<fs::directory_iterator>(directory, error);
  if (error) {
    return base::invalid(fmt::format("{}: {}", directory.string(), error.message()));
  }
  if (files.empty()) {
    return base::invalid(fmt::format("{}: no *.yaml, *.yml or *.json in this directory{}",
                                     directory.string(),
                                     deep ? "" : "; -R looks into its subdirectories as well"));
  }
  return files;
}

base::Result<std::vector<std::string>> files_named(const std::string& argument,
                                                   Recursion recursion) {
  std::error_code error;
  if (argument != kStandardInput && fs::is_directory(argument, error)) {
    return files_of(argument, recursion);
  }
  if (argument != kStandardInput && !fs::exists(argument, error)) {
    return base::Error{base::ErrorCode::NotFound, argument + ": no such file or directory"};
  }
  return std::vector<std::string>{argument};
}

}  // namespace

base::Result<std::vector<std::string>> expand_inputs(const std::vector<std::string>& arguments,
                                                     Recursion recursion) {
  std::vector<std::string> files;
  for (const std::string& argument : arguments) {
    auto named = files_named(argument, recursion);
    if (!named) {
      return named;
    }
    files.insert(files.end(), named.value().begin(), named.value().end());
  }
  return files;
}

base::Result<std::string> read_input(const std::string& path, std::istream& in) {
  std::ostringstream text;
  if (path == kStandardInput) {
    text << in.rdbuf();
    return text.str();
  }
  std::error_code error;
  if (fs::is_directory(path, error)) {
    return base::invalid(path + ": is a directory");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return base::Error{base::ErrorCode::NotFound, path + ": cannot be read"};
  }
  text << file.rdbuf();
  return text.str();
}

}  // namespace injector::cli
