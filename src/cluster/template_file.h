// The templates in files: loaded once, followed when they change.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/file_watch.h"
#include "base/result.h"
#include "template/store.h"

namespace injector::cluster {

/// Owns one thread, the file watch.
class TemplateFile {
 public:
  /// Files and directories as templates::template_paths() takes them. Fails if one of them cannot
  /// be served now; later failures keep the last good version. `templates` outlives this.
  [[nodiscard]] static base::Result<std::unique_ptr<TemplateFile>> open(
      const std::vector<std::string>& arguments, templates::TemplateStore& templates);

  TemplateFile(std::vector<std::string> arguments, std::vector<std::string> watched,
               base::FileSnapshot seen, templates::TemplateStore& templates);

  /// Reads the files again now (SIGHUP), on the watch's thread.
  void reload_now() { watch_.check_now(); }

 private:
  const std::vector<std::string> arguments_;
  templates::TemplateStore& templates_;
  base::FileWatch watch_;  // Last: its thread uses the others.
};

}  // namespace injector::cluster
