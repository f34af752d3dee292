#include "cluster/config_map_turns.h"

#include <utility>

#include "kube/time_text.h"

namespace injector::cluster {
namespace {

using base::Json;

Json as_patch(const std::map<std::string, std::optional<WallTime>>& changes) {
  Json data = Json::object();
  for (const auto& [owner, until] : changes) {
    data[owner] = until ? Json(kube::time_text(*until)) : Json();
  }
  return Json::object({{"data", std::move(data)}});
}

Json as_object(const std::map<std::string, std::optional<WallTime>>& changes,
               const std::string& name) {
  Json object = Json::object({{"apiVersion", "v1"}, {"kind", "ConfigMap"}});
  object["metadata"]["name"] = name;
  object["data"] = Json::object();
  for (const auto& [owner, until] : changes) {
    if (until) {
      object["data"][owner] = kube::time_text(*until);
    }
  }
  return object;
}

}  // namespace

ConfigMapTurns::ConfigMapTurns(kube::RestClient& client, std::string name_space)
    : client_(client),
      target_{kube::kConfigMaps, std::move(name_space), kName, {}} {}

base::Result<std::map<std::string, WallTime>> ConfigMapTurns::load(const std::stop_token& stop) {
  std::map<std::string, WallTime> turns;
  const auto object = client_.get(target_, stop);
  if (!object && object.error().code != base::ErrorCode::NotFound) {
    return object.error();
  }
  const Json* data = object ? base::find(object.value(), "data") : nullptr;
  if (data == nullptr || !data->is_object()) {
    return turns;
  }
  for (const auto& [owner, text] : data->items()) {
    // What is no time has no meaning: it is past, and goes with the next write.
    turns.emplace(owner, kube::parse_time(base::text_of(&text)).value_or(WallTime()));
  }
  return turns;
}

base::Result<void> ConfigMapTurns::write(
    const std::map<std::string, std::optional<WallTime>>& changes, const std::stop_token& stop) {
  const kube::Patch patch{kube::PatchType::Merge, as_patch(changes)};
  auto written = client_.patch(target_, patch, {}, stop);
  if (!written && written.error().code == base::ErrorCode::NotFound) {
    const kube::Target collection{target_.resource, target_.name_space, {}, {}};
    written = client_.create_object(collection, as_object(changes, kName), {}, stop);
    if (!written && written.error().code == base::ErrorCode::AlreadyExists) {
      written = client_.patch(target_, patch, {}, stop);
    }
  }
  return written ? base::Result<void>() : base::Result<void>(written.error());
}

}  // namespace injector::cluster
