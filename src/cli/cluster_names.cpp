#include "cli/cluster_names.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/files.h"
#include "cli/live_target.h"
#include "yaml/yaml.h"

namespace injector::cli {
namespace {

using base::Json;

constexpr std::size_t kAtMost = 500;  // Nobody looks through more at a prompt.

// The files that kubectl would read, by its rules.
std::vector<std::string> kubeconfig_files(const std::string& given,
                                          const kube::Environment& environment) {
  if (!given.empty()) {
    return {given};
  }
  std::vector<std::string> files;
  std::string list = environment.variable("KUBECONFIG").value_or("");
  if (list.empty()) {
    return {environment.variable("HOME").value_or("") + "/.kube/config"};
  }
  while (!list.empty()) {
    const std::size_t colon = std::min(list.find(':'), list.size());
    files.push_back(list.substr(0, colon));
    list.erase(0, colon + 1);
  }
  return files;
}

void add_contexts(const std::string& file, std::set<std::string>& names) {
  const auto text = base::read_regular_file(file);
  const auto document =
      text ? yaml::read_yaml(text.value()) : base::Result<yaml::YamlDocument>(text.error());
  const Json* contexts = document ? base::find(document.value().value, "contexts") : nullptr;
  if (contexts == nullptr || !contexts->is_array()) {
    return;
  }
  for (const Json& context : *contexts) {
    names.insert(std::string(base::text_of(base::find(context, "name"))));
  }
}

}  // namespace

std::vector<std::string> ClusterNames::contexts(const ClusterWords& words) {
  std::set<std::string> names;
  for (const std::string& file : kubeconfig_files(words.kubeconfig, environment_)) {
    add_contexts(file, names);
  }
  return {names.begin(), names.end()};
}

std::vector<std::string> ClusterNames::list(kube::RestClient& client, const kube::Target& target) {
  std::vector<std::string> names;
  const auto take = [&names](const Json& object) {
    names.emplace_back(base::text_of(base::find(object, "metadata", "name")));
    return names.size() < kAtMost;
  };
  // What came before a failure is still worth offering.
  static_cast<void>(client.for_each(target, {}, take, {}));
  return names;
}

std::vector<std::string> ClusterNames::namespaces(const ClusterWords& words) {
  const auto client = connect_(words);
  return client ? list(*client.value(), {kube::kNamespaces, "", "", ""})
                : std::vector<std::string>();
}

std::vector<std::string> ClusterNames::objects(const std::string& kind, const ClusterWords& words) {
  const auto client = connect_(words);
  if (!client) {
    return {};
  }
  const std::string& name_space =
      words.name_space.empty() ? client.value()->default_namespace() : words.name_space;
  const auto resource = kind == "configmap" ? base::Result<kube::Resource>(kube::kConfigMaps)
                                            : find_kind(*client.value(), kind, {});
  return resource ? list(*client.value(), {resource.value(), name_space, "", ""})
                  : std::vector<std::string>();
}

}  // namespace injector::cli
