#include "cluster/template_place.h"

#include <utility>

#include <fmt/format.h>

#include "base/json_text.h"
#include "template/files.h"

namespace injector::cluster {

base::Error with_way_out(base::Error error) {
  if (error.code == base::ErrorCode::Forbidden) {
    error.message += "; give the template with --config FILE or --configmap NS/NAME";
  }
  return error;
}

base::Result<ObjectName> parse_object_name(const std::string& text,
                                           const std::string& default_namespace) {
  const std::size_t slash = text.find('/');
  ObjectName name = slash == std::string::npos
                        ? ObjectName{default_namespace, text}
                        : ObjectName{text.substr(0, slash), text.substr(slash + 1)};
  if (name.name_space.empty() || name.name.empty() || name.name.find('/') != std::string::npos) {
    return base::invalid(
        fmt::format("\"{}\" is not a name such as envoy-initializer or ns/name", text));
  }
  return name;
}

base::Result<core::TemplateSet> fetch_templates(kube::RestClient& client, const std::string& name,
                                                const templates::TemplateOptions& options,
                                                core::NativeSidecars native) {
  INJ_ASSIGN(auto place, parse_object_name(name, client.default_namespace()));
  auto object = client.get({kube::kConfigMaps, place.name_space, place.name, ""}, {});
  if (!object) {
    return base::annotate(std::move(object).error(), "load template");
  }
  return templates::load_templates({{base::write_json(object.value()), "configmap " + name}},
                                   options, native);
}

base::Result<std::optional<ObjectName>> find_template_config_map(kube::RestClient& client,
                                                                 const std::string& name,
                                                                 const std::stop_token& stop) {
  INJ_ASSIGN(auto wanted, parse_object_name(name.empty() ? kTemplateConfigMap : name,
                                            client.default_namespace()));
  const auto object = client.get({kube::kConfigMaps, wanted.name_space, wanted.name, ""}, stop);
  if (object) {
    return std::optional<ObjectName>(std::move(wanted));
  }
  if (object.error().code == base::ErrorCode::NotFound && name.empty()) {
    return std::optional<ObjectName>();
  }
  return base::annotate(with_way_out(object.error()), "find template");
}

}  // namespace injector::cluster
