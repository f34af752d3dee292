#include "template/files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace injector::templates {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfigKey = "config";

bool is_hidden(const fs::path& path) {
  return path.filename().string().front() == '.';
}

bool has_extension(const fs::path& path) {
  const std::string extension = path.extension().string();
  return extension == ".yaml" || extension == ".yml" || extension == ".json";
}

base::Result<std::vector<TemplatePath>> in_directory(const std::string& directory) {
  std::error_code failed;
  const bool is_mount = fs::is_regular_file(fs::path(directory) / kConfigKey, failed);
  std::vector<TemplatePath> paths;
  for (fs::directory_iterator at(directory, failed), end; !failed && at != end;
       at.increment(failed)) {
    const fs::path& path = at->path();
    std::error_code ignored;
    if (is_hidden(path) || !fs::is_regular_file(path, ignored)) {
      continue;
    }
    if (is_mount) {
      const std::string key = path.filename().string();
      paths.push_back(
          {path.string(), key == kConfigKey ? std::string(core::kDefaultTemplate) : key});
    } else if (has_extension(path)) {
      paths.push_back({path.string(), path.stem().string()});
    }
  }
  if (failed) {
    return base::invalid(fmt::format("{}: {}", directory, failed.message()));
  }
  if (paths.empty()) {
    return base::invalid(fmt::format("{}: no template in it", directory));
  }
  std::sort(paths.begin(), paths.end(), [](const TemplatePath& left, const TemplatePath& right) {
    return left.path < right.path;
  });
  return paths;
}

}  // namespace

base::Result<std::vector<TemplatePath>> template_paths(const std::vector<std::string>& arguments) {
  std::vector<TemplatePath> all;
  bool first_file = true;
  for (const std::string& argument : arguments) {
    std::error_code ignored;
    if (fs::is_directory(argument, ignored)) {
      INJ_ASSIGN(auto paths, in_directory(argument));
      std::move(paths.begin(), paths.end(), std::back_inserter(all));
      continue;
    }
    all.push_back({argument, std::exchange(first_file, false)
                                 ? std::string(core::kDefaultTemplate)
                                 : fs::path(argument).stem().string()});
  }
  return all;
}

base::Result<std::vector<TemplateText>> read_template_texts(
    const std::vector<std::string>& arguments, const ReadText& read) {
  INJ_ASSIGN(const auto paths, template_paths(arguments));
  std::vector<TemplateText> texts;
  for (const TemplatePath& each : paths) {
    INJ_ASSIGN(auto text, read(each.path));
    texts.push_back({std::move(text), each.path, each.name});
  }
  return texts;
}

base::Result<core::TemplateSet> load_templates(const std::vector<TemplateText>& texts,
                                               const TemplateOptions& options,
                                               core::NativeSidecars native) {
  std::vector<core::ServedTemplate> served;
  std::string problems;
  for (const TemplateText& text : texts) {
    for (TemplateReport& report : check_templates(text.text, options, text.name)) {
      if (report.value) {
        served.push_back(std::move(report).served(text.origin));
      } else {
        problems += (problems.empty() ? "" : "\n") + report.error(text.origin).message;
      }
    }
  }
  if (!problems.empty()) {
    return base::invalid(std::move(problems));
  }
  return core::TemplateSet(std::move(served), native);
}

}  // namespace injector::templates
