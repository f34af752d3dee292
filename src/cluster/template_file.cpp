#include "cluster/template_file.h"

#include <filesystem>
#include <system_error>
#include <utility>

namespace injector::cluster {
namespace {

base::Result<void> load(const std::string& path, const base::FileSnapshot& files,
                        templates::TemplateStore& templates) {
  const auto& content = files.front();
  if (content) {
    return templates.update(content.value(), path);
  }
  templates.report_failure(content.error());
  return content.error();
}

}  // namespace

base::Result<std::unique_ptr<TemplateFile>> TemplateFile::open(
    const std::string& path, templates::TemplateStore& templates) {
  std::error_code ignored;
  std::string file = std::filesystem::is_directory(path, ignored) ? path + "/config" : path;
  base::FileSnapshot seen = base::read_files({file});
  if (auto loaded = load(file, seen, templates); !loaded) {
    return base::annotate(std::move(loaded).error(), "load template");
  }
  return std::make_unique<TemplateFile>(std::move(file), std::move(seen), templates);
}

TemplateFile::TemplateFile(std::string path, base::FileSnapshot seen,
                           templates::TemplateStore& templates)
    : path_(std::move(path)),
      templates_(templates),
      watch_({path_}, std::move(seen), [this](const base::FileSnapshot& files) {
        static_cast<void>(load(path_, files, templates_));  // The store reports its failures.
      }) {}

}  // namespace injector::cluster
