// Templates in files and directories, as --config names them. Reads the file system; any thread.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/template_set.h"
#include "template/store.h"

namespace injector::templates {

struct TemplatePath {
  std::string path;
  std::string name;  // Of a bare template in it.
};

/// The files that arguments of --config mean, in their order. A file: the first holds the default
/// template, further ones templates of the file's name. A directory that is the mount of a
/// ConfigMap (it has a file `config`): every file is a key. Any other directory: its *.yaml, *.yml
/// and *.json, each a template of the file's name. A ConfigMap or a SidecarTemplate in a file has
/// names of its own.
[[nodiscard]] base::Result<std::vector<TemplatePath>> template_paths(
    const std::vector<std::string>& arguments);

/// Reads one of the files; "-" may mean something else to the caller.
using ReadText = std::function<base::Result<std::string>(const std::string& path)>;

[[nodiscard]] base::Result<std::vector<TemplateText>> read_template_texts(
    const std::vector<std::string>& arguments, const ReadText& read);

/// All templates of the texts, or everything that is wrong with them.
[[nodiscard]] base::Result<core::TemplateSet> load_templates(const std::vector<TemplateText>& texts,
                                                             const TemplateOptions& options,
                                                             core::NativeSidecars native);

}  // namespace injector::templates
