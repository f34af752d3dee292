#include "core/pod_facts.h"

#include "core/gather.h"
#include "core/tree_node.h"

namespace injector::core {
namespace {

StringMap string_map(const base::Json* object) {
  StringMap map;
  if (object == nullptr || !object->is_object()) {
    return map;
  }
  for (const auto& [key, value] : object->items()) {
    if (value.is_string()) {
      map.emplace_back(key, value.get<std::string>());
    }
  }
  return map;
}

}  // namespace

std::string to_string(const OwnerFacts& owner) {
  return owner.name.empty() ? std::string() : owner.kind + "/" + owner.name;
}

base::Result<PodFacts> pod_facts(const base::Json& pod, const TemplateSet* templates) {
  return PodFactsGatherer<TreeNode>::gather(TreeNode(&pod), templates);
}

MetaFacts meta_facts(const base::Json& object) {
  return {string_map(base::find(object, "metadata", "labels")),
          string_map(base::find(object, "metadata", "annotations"))};
}

}  // namespace injector::core
