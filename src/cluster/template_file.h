// The template in a file: loaded once, followed when it changes.

#pragma once

#include <memory>
#include <string>

#include "base/file_watch.h"
#include "base/result.h"
#include "template/store.h"

namespace injector::cluster {

/// Owns one thread, the file watch.
class TemplateFile {
 public:
  /// `path` may be a folder: the mount of a ConfigMap, whose key `config` is the template. Fails if
  /// it cannot be served now; later failures keep the last good template. `templates` outlives
  /// this.
  [[nodiscard]] static base::Result<std::unique_ptr<TemplateFile>> open(
      const std::string& path, templates::TemplateStore& templates);

  TemplateFile(std::string path, base::FileSnapshot seen, templates::TemplateStore& templates);

  /// Reads the file again now (SIGHUP), on the watch's thread.
  void reload_now() { watch_.check_now(); }

 private:
  std::string path_;
  templates::TemplateStore& templates_;
  base::FileWatch watch_;  // Last: its thread uses the others.
};

}  // namespace injector::cluster
