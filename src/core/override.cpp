#include "core/override.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/printable.h"
#include "patch/schema.h"
#include "patch/strategic_merge.h"

namespace injector::core {
namespace {

using base::Json;
using Overrides = std::vector<ContainerOverride>;

constexpr std::string_view kTokenMount = "/var/run/secrets/kubernetes.io/serviceaccount";

bool is_text(const Json& object, std::string_view field, std::string_view text) {
  return base::text_of(base::find(object, field)) == text;
}

void erase_if(Json& object, const char* field, bool unwanted) {
  if (unwanted) {
    object.erase(field);
  }
}

// The ServiceAccount plugin mounts the token into every container before we see the Pod.
void drop_token_mount(Json& container) {
  Json* mounts = base::find(container, "volumeMounts");
  if (mounts == nullptr || !mounts->is_array()) {
    return;
  }
  Json kept = Json::array();
  for (Json& mount : *mounts) {
    if (!is_text(mount, "mountPath", kTokenMount)) {
      kept.push_back(std::move(mount));
    }
  }
  *mounts = std::move(kept);
}

// A Pod comes to the webhook with the API server's defaults in it: nobody meant to override
// anything by these. Neither does the image `auto`, nor a restart policy that says where it runs.
Json as_patch(Json container) {
  drop_token_mount(container);
  erase_if(container, "name", true);
  erase_if(container, "image", is_text(container, "image", "auto"));
  erase_if(container, "imagePullPolicy", is_text(container, "imagePullPolicy", "Always"));
  erase_if(container, "terminationMessagePath",
           is_text(container, "terminationMessagePath", "/dev/termination-log"));
  erase_if(container, "terminationMessagePolicy",
           is_text(container, "terminationMessagePolicy", "File"));
  erase_if(container, "restartPolicy", is_text(container, "restartPolicy", "Always"));
  Json patch = Json::object();
  for (auto& [key, value] : container.items()) {
    const bool says_nothing = value.is_null() || (value.is_structured() && value.empty());
    if (!says_nothing) {
      base::append_member(patch, key, std::move(value));
    }
  }
  return patch;
}

base::Result<void> add_containers(const std::vector<ContainerFacts>& containers,
                                  Overrides& overrides) {
  for (const ContainerFacts& container : containers) {
    if (container.override_json.empty()) {
      continue;
    }
    Json json = Json::parse(container.override_json, nullptr, false);
    if (!json.is_object()) {
      return base::invalid(fmt::format("container {} cannot be read", container.name));
    }
    overrides.push_back({container.name, as_patch(std::move(json)),
                         fmt::format("container {}", base::echoed(container.name))});
  }
  return {};
}

base::Result<Json> read_annotation(const std::string& text, const Policy& policy) {
  if (text.size() > kMaxOverrides) {
    return base::invalid(
        fmt::format("it has {} bytes; {} is the most", text.size(), kMaxOverrides));
  }
  if (policy.read_overrides != nullptr) {
    return policy.read_overrides(text);
  }
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded() || base::deeper_than(json, base::kMaxJsonDepth)) {
    return base::invalid("not JSON");
  }
  return json;
}

base::Result<void> add_list(const Json& list, const std::string& where, Overrides& overrides) {
  if (!list.is_array()) {
    return base::invalid("not a list of containers");
  }
  for (const Json& item : list) {
    const std::string_view name = base::text_of(base::find(item, "name"));
    if (name.empty()) {
      return base::invalid("a container without a name");
    }
    Json patch = item;
    patch.erase("name");
    erase_if(patch, "image", is_text(patch, "image", "auto"));
    overrides.push_back({std::string(name), std::move(patch), where});
  }
  return {};
}

base::Result<void> add_annotation(const Json& value, const std::string& where,
                                  Overrides& overrides) {
  if (value.is_array()) {
    return add_list(value, where, overrides);
  }
  if (!value.is_object()) {
    return base::invalid("neither a mapping with containers nor a list of them");
  }
  for (const auto& [key, list] : value.items()) {
    if (key != "containers" && key != "initContainers") {
      return base::invalid(fmt::format(
          "{}: only containers and initContainers are there to override", base::echoed(key)));
    }
    INJ_TRY(add_list(list, where, overrides));
  }
  return {};
}

bool covers(const std::vector<std::string>& allowed, const std::string& path) {
  return std::find(allowed.begin(), allowed.end(), path) != allowed.end();
}

// Whether something below `path` is allowed.
bool leads_to_allowed(const std::vector<std::string>& allowed, const std::string& path) {
  return std::any_of(allowed.begin(), allowed.end(), [&](const std::string& each) {
    return each.size() > path.size() && each.compare(0, path.size(), path) == 0 &&
           each[path.size()] == '.';
  });
}

void collect(const Json& object, const std::string& parent, const std::vector<std::string>& allowed,
             OverrideFields& fields) {
  for (const auto& [key, value] : object.items()) {
    const std::string path = parent.empty() ? key : parent + "." + key;
    if (covers(allowed, path)) {
      fields.allowed.push_back(path);
    } else if (value.is_object() && leads_to_allowed(allowed, path)) {
      collect(value, path, allowed, fields);
    } else {
      fields.refused.push_back(path);
    }
  }
}

const patch::Schema& container_schema() {
  static const patch::Schema schema =
      patch::schema_for_kind("Pod")->find("spec")->schema.find("containers")->schema;
  return schema;
}

}  // namespace

base::Result<Overrides> overrides_of(const PodFacts& pod, const Policy& policy) {
  Overrides overrides;
  INJ_TRY(add_containers(pod.containers, overrides));
  INJ_TRY(add_containers(pod.init_containers, overrides));
  const auto found =
      std::find_if(pod.annotations.begin(), pod.annotations.end(),
                   [&](const auto& entry) { return policy.is_overrides_key(entry.first); });
  if (found == pod.annotations.end()) {
    return overrides;
  }
  const std::string where = fmt::format("annotation {}", found->first);
  auto value = read_annotation(found->second, policy);
  auto added = value ? add_annotation(value.value(), where, overrides)
                     : base::Result<void>(std::move(value).error());
  if (!added) {
    return base::annotate(std::move(added).error(), where);
  }
  return overrides;
}

OverrideFields fields_of(const Json& patch, const std::vector<std::string>& allowed) {
  OverrideFields fields;
  collect(patch, "", allowed, fields);
  return fields;
}

base::Result<Json> overridden(const Json& container, const Json& patch) {
  return patch::apply_strategic(container, patch, container_schema());
}

}  // namespace injector::core
