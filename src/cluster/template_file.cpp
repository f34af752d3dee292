#include "cluster/template_file.h"

#include <utility>

#include "base/files.h"
#include "template/files.h"

namespace injector::cluster {
namespace {

base::Result<void> load(const std::vector<std::string>& arguments,
                        templates::TemplateStore& templates) {
  const auto texts = templates::read_template_texts(
      arguments, [](const std::string& path) { return base::read_regular_file(path); });
  if (texts) {
    return templates.update(texts.value());
  }
  templates.report_failure(texts.error());
  return texts.error();
}

// The files, and the directories themselves: a key may be added.
std::vector<std::string> watched_paths(const std::vector<std::string>& arguments) {
  std::vector<std::string> paths = arguments;
  if (const auto files = templates::template_paths(arguments)) {
    for (const templates::TemplatePath& each : files.value()) {
      if (each.path != paths.front()) {
        paths.push_back(each.path);
      }
    }
  }
  return paths;
}

}  // namespace

base::Result<std::unique_ptr<TemplateFile>> TemplateFile::open(
    const std::vector<std::string>& arguments, templates::TemplateStore& templates) {
  std::vector<std::string> watched = watched_paths(arguments);
  base::FileSnapshot seen = base::read_files(watched);
  if (auto loaded = load(arguments, templates); !loaded) {
    return base::annotate(std::move(loaded).error(), "load template");
  }
  return std::make_unique<TemplateFile>(arguments, std::move(watched), std::move(seen), templates);
}

TemplateFile::TemplateFile(std::vector<std::string> arguments, std::vector<std::string> watched,
                           base::FileSnapshot seen, templates::TemplateStore& templates)
    : arguments_(std::move(arguments)),
      templates_(templates),
      watch_(std::move(watched), std::move(seen), [this](const base::FileSnapshot&) {
        static_cast<void>(load(arguments_, templates_));  // The store reports its failures.
      }) {}

}  // namespace injector::cluster
