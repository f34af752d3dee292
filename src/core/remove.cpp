#include "core/remove.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace injector::core {
namespace {

using base::Json;
using Names = std::vector<std::string>;

bool contains(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void erase_member(Json& object, std::string_view key) {
  object.erase(std::string(key));
}

// Takes `field` of `parent` back to what it was, if it is empty and injection made it.
void erase_if_created(Json& parent, std::string_view field, const std::string& path,
                      const Status& status) {
  Json* value = base::find(parent, field);
  if (value == nullptr || !value->empty()) {
    return;
  }
  if (contains(status.created, path)) {
    erase_member(parent, field);
  } else if (contains(status.created, path + kWasNull)) {
    *value = nullptr;
  }
}

void erase_named(Json& spec, std::string_view field, const Names& names) {
  Json* list = base::find(spec, field);
  if (list == nullptr || !list->is_array()) {
    return;
  }
  Json kept = Json::array();
  for (Json& item : *list) {
    if (!contains(names, base::text_of(base::find(std::as_const(item), "name")))) {
      kept.push_back(std::move(item));
    }
  }
  *list = std::move(kept);
}

// Where they stood, or at the end of a list that is shorter now.
void give_back(Json& spec, const Status& status) {
  for (const ReplacedContainer& each : status.replaced) {
    Json& list = spec[each.init ? "initContainers" : "containers"];
    if (!list.is_array()) {
      list = Json::array();
    }
    const auto at = static_cast<Json::difference_type>(std::min(each.index, list.size()));
    list.insert(list.begin() + at, Json::parse(each.json, nullptr, false));
  }
}

void erase_keys(Json& metadata, std::string_view field, const Names& keys) {
  Json* map = base::find(metadata, field);
  if (map == nullptr || !map->is_object()) {
    return;
  }
  for (const std::string& key : keys) {
    erase_member(*map, key);
  }
}

void clean_spec(Json& spec, const Status& status) {
  struct List {
    const char* field;
    const Names* names;
  };

  const std::array<List, 4> lists = {{
      {"containers", &status.containers},
      {"initContainers", &status.init_containers},
      {"volumes", &status.volumes},
      {"imagePullSecrets", &status.image_pull_secrets},
  }};
  for (const auto& [field, names] : lists) {
    erase_named(spec, field, *names);
  }
  give_back(spec, status);
  for (const auto& [field, names] : lists) {
    erase_if_created(spec, field, fmt::format("spec.{}", field), status);
  }
}

void clean_metadata(Json& metadata, const Status& status, const Policy& policy) {
  erase_keys(metadata, "labels", status.labels);
  erase_keys(metadata, "annotations", status.annotations);
  erase_keys(metadata, "annotations", {policy.status_key()});
  erase_if_created(metadata, "labels", "metadata.labels", status);
  erase_if_created(metadata, "annotations", "metadata.annotations", status);
}

}  // namespace

base::Result<std::optional<Status>> injection_status(const Json& pod, const Policy& policy) {
  const Json* value = base::find(pod, "metadata", "annotations", policy.status_key());
  if (value == nullptr) {
    return std::optional<Status>();
  }
  const Json parsed = Json::parse(base::text_of(value), nullptr, false);
  auto status = read_status(parsed);
  if (!status) {
    return base::annotate(std::move(status).error(),
                          fmt::format("annotation {}", policy.status_key()));
  }
  return std::optional<Status>(std::move(status).value());
}

Json without_injection(Json pod, const Status& status, const Policy& policy) {
  if (Json* metadata = base::find(pod, "metadata")) {
    clean_metadata(*metadata, status, policy);
  }
  if (Json* spec = base::find(pod, "spec")) {
    clean_spec(*spec, status);
  }
  erase_if_created(pod, "metadata", "metadata", status);
  return pod;
}

}  // namespace injector::core
