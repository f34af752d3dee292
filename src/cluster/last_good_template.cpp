#include "cluster/last_good_template.h"

#include <utility>

#include <fmt/format.h>

#include "kube/resource.h"

namespace injector::cluster {
namespace {

using base::ErrorCode;
using base::Json;

constexpr int kAttempts = 5;  // Where other replicas get in first.
const kube::WriteOptions kWrite{.field_manager = "envoy-initializer"};

Json new_config_map(const std::string& name_space, const std::string& name) {
  return {{"apiVersion", "v1"},
          {"kind", "ConfigMap"},
          {"metadata",
           {{"name", name},
            {"namespace", name_space},
            {"labels", {{"app.kubernetes.io/managed-by", "envoy-initializer"}}},
            {"annotations",
             {{"kubernetes.io/description",
               "The last template that could be used. Written by envoy-initializer: edit the other "
               "one."}}}}}};
}

bool lost_race(const base::Error& error) {
  return error.code == ErrorCode::Conflict || error.code == ErrorCode::AlreadyExists ||
         error.code == ErrorCode::NotFound;
}

}  // namespace

LastGoodTemplate::LastGoodTemplate(kube::RestClient& client, std::string name_space,
                                   std::string name)
    : client_(client),
      name_space_(std::move(name_space)),
      name_(std::move(name)),
      origin_(fmt::format("configmap {}/{}", name_space_, name_)) {}

base::Result<std::optional<Json>> LastGoodTemplate::read(const std::stop_token& stop) {
  auto object = client_.get({kube::kConfigMaps, name_space_, name_, ""}, stop);
  if (object) {
    return std::optional(std::move(object).value());
  }
  if (object.error().code == ErrorCode::NotFound) {
    return std::optional<Json>();
  }
  return std::move(object).error();
}

base::Result<void> LastGoodTemplate::write(const Json& data, const std::stop_token& stop) {
  base::Result<void> written;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    written = try_write(data, stop);
    if (written || !lost_race(written.error())) {
      break;
    }
  }
  return written ? std::move(written)
                 : base::annotate(std::move(written).error(), "keep the last good template");
}

base::Result<void> LastGoodTemplate::try_write(const Json& data, const std::stop_token& stop) {
  INJ_ASSIGN(auto stored, read(stop));
  const bool exists = stored.has_value();
  Json object = exists ? *std::move(stored) : new_config_map(name_space_, name_);
  const Json* before = base::find(std::as_const(object), "data");
  if (before != nullptr && base::same(*before, data)) {
    return {};
  }
  object["data"] = data;
  const auto written =
      exists
          ? client_.update({kube::kConfigMaps, name_space_, name_, ""}, object, kWrite, stop)
          : client_.create_object({kube::kConfigMaps, name_space_, "", ""}, object, kWrite, stop);
  return written ? base::Result<void>() : base::Result<void>(written.error());
}

}  // namespace injector::cluster
