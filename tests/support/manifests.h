// The objects in manifests/, for the tests that hold them to the program and to a real API server.

#pragma once

#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "tests/support/files.h"
#include "yaml/document_stream.h"
#include "yaml/yaml.h"

namespace injector::tests {

/// A path below manifests/.
inline std::string manifest_path(const std::string& path) {
  return data_path("../manifests/" + path);
}

/// The objects of a stream of YAML documents. Throws std::runtime_error where it is not YAML.
inline std::vector<base::Json> objects_of(const std::string& text) {
  std::istringstream stream{text};
  yaml::DocumentStream documents(stream);
  std::vector<base::Json> objects;
  while (true) {
    auto raw = documents.next();
    if (!raw) {
      throw std::runtime_error(raw.error().message);
    }
    if (!raw.value()) {
      return objects;
    }
    auto document = yaml::read_yaml(raw.value()->text, raw.value()->first_line);
    if (!document) {
      throw std::runtime_error(document.error().message);
    }
    if (!document.value().value.is_null()) {
      objects.push_back(std::move(document).value().value);
    }
  }
}

inline std::string kind_of(const base::Json& object) {
  return std::string(base::text_of(base::find(object, "kind")));
}

/// The first object of that kind in a file below manifests/.
inline base::Json manifest(const std::string& path, std::string_view kind) {
  for (base::Json& object : objects_of(read_file(manifest_path(path)))) {
    if (kind_of(object) == kind) {
      return std::move(object);
    }
  }
  throw std::runtime_error(path + ": no " + std::string(kind));
}

/// The Pod's own spec, or the one of its template; nullptr for other objects.
inline const base::Json* pod_spec(const base::Json& object) {
  return kind_of(object) == "Pod" ? base::find(object, "spec")
                                  : base::find(object, "spec", "template", "spec");
}

/// The arguments of our container in a Pod or a workload; empty if it has none.
inline std::vector<std::string> arguments_of(const base::Json& object) {
  const base::Json* spec = pod_spec(object);
  const base::Json* containers = spec == nullptr ? nullptr : base::find(*spec, "containers");
  std::vector<std::string> arguments;
  if (containers == nullptr) {
    return arguments;
  }
  for (const base::Json& container : *containers) {
    const base::Json* args = base::find(container, "args");
    const base::Json* image = base::find(container, "image");  // A patch has none.
    const bool ours = image == nullptr || base::text_of(image).rfind("envoy-initializer:", 0) == 0;
    for (std::size_t i = 0; ours && args != nullptr && i < args->size(); ++i) {
      arguments.push_back(args->at(i).get<std::string>());
    }
  }
  return arguments;
}

/// All YAML files below manifests/, kustomizations included.
inline std::vector<std::string> manifest_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(manifest_path(""))) {
    if (entry.path().extension() == ".yaml" && !entry.is_symlink()) {
      files.push_back(entry.path().string());
    }
  }
  return files;
}

/// All folders below manifests/ that `kubectl apply -k` takes.
inline std::vector<std::string> kustomizations() {
  std::vector<std::string> folders;
  for (const std::string& file : manifest_files()) {
    const std::filesystem::path path(file);
    if (path.filename() == "kustomization.yaml" &&
        kind_of(objects_of(read_file(file)).front()) == "Kustomization") {
      folders.push_back(path.parent_path().string());
    }
  }
  return folders;
}

/// All components, as paths below manifests/.
inline std::vector<std::string> components() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(manifest_path("components"))) {
    paths.push_back("components/" + entry.path().filename().string());
  }
  return paths;
}

}  // namespace injector::tests
