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

base::Result<std::vector<std::string>> files_of(const fs::path& directory) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    if (is_manifest(it->path()) && it->is_regular_file(error)) {
      files.push_back(it->path().string());
    }
  }
  if (error) {
    return base::invalid(fmt::format("{}: {}", directory.string(), error.message()));
  }
  if (files.empty()) {
    return base::invalid(
        fmt::format("{}: no *.yaml, *.yml or *.json in this directory", directory.string()));
  }
  std::sort(files.begin(), files.end());
  return files;
}

base::Result<std::vector<std::string>> files_named(const std::string& argument) {
  std::error_code error;
  if (argument != kStandardInput && fs::is_directory(argument, error)) {
    return files_of(argument);
  }
  if (argument != kStandardInput && !fs::exists(argument, error)) {
    return base::Error{base::ErrorCode::NotFound, argument + ": no such file or directory"};
  }
  return std::vector<std::string>{argument};
}

}  // namespace

base::Result<std::vector<std::string>> expand_inputs(const std::vector<std::string>& arguments) {
  std::vector<std::string> files;
  for (const std::string& argument : arguments) {
    auto named = files_named(argument);
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
