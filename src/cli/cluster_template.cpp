#include "cli/cluster_template.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/json_text.h"
#include "cli/inputs.h"
#include "cluster/last_good_template.h"
#include "cluster/template_place.h"
#include "template/parser.h"

namespace injector::cli {
namespace {

using base::Json;

base::Result<FoundTemplate> template_of_file(const TemplateChoice& choice, std::istream& in) {
  auto text = read_input(choice.file, in);
  if (!text) {
    return base::annotate(std::move(text).error(), "load template");
  }
  auto tpl = templates::parse_template(text.value(), choice.file, choice.options);
  return tpl ? base::Result<FoundTemplate>({std::move(tpl).value(), "file " + choice.file, {}})
             : std::move(tpl).error();
}

base::Result<FoundTemplate> template_of_object(const Json& object, const cluster::ObjectName& name,
                                               const templates::TemplateOptions& options) {
  const std::string source = fmt::format("configmap {}/{}", name.name_space, name.name);
  auto tpl = templates::parse_template(base::write_json(object), source, options);
  return tpl ? base::Result<FoundTemplate>({std::move(tpl).value(), source, {}})
             : std::move(tpl).error();
}

// The content that the webhook fell back to, if it had to; nothing where there is none to be had.
std::optional<FoundTemplate> last_good_of(kube::RestClient& client, const cluster::ObjectName& name,
                                          const templates::TemplateOptions& options,
                                          const std::stop_token& stop) {
  const cluster::ObjectName kept{name.name_space, name.name + cluster::kLastGoodSuffix};
  const auto object = client.get({kube::kConfigMaps, kept.name_space, kept.name, ""}, stop);
  auto found = object ? template_of_object(object.value(), kept, options)
                      : base::Result<FoundTemplate>(object.error());
  return found ? std::optional(std::move(found).value()) : std::nullopt;
}

// What the webhook serves of a ConfigMap: its content, or the last that could be used.
base::Result<FoundTemplate> template_in_service(kube::RestClient& client, const Json& object,
                                                const cluster::ObjectName& name,
                                                const templates::TemplateOptions& options,
                                                const std::stop_token& stop) {
  auto found = template_of_object(object, name, options);
  auto kept = last_good_of(client, name, options, stop);
  if (!kept) {
    return found;
  }
  if (!found) {
    kept->note = fmt::format("configmap {}/{} cannot be used: {}", name.name_space, name.name,
                             found.error().message.substr(0, found.error().message.find('\n')));
    return *std::move(kept);
  }
  if (found.value().tpl.hash != kept->tpl.hash) {
    found.value().note = fmt::format(
        "the last one that was accepted is {}: this one is on its way, or was refused (see "
        "/readyz?verbose of the webhook)",
        kept->tpl.hash);
  }
  return found;
}

// Nobody named a ConfigMap, and the usual one cannot be had: why decides what that means.
base::Result<FoundTemplate> template_without_config_map(base::Error why) {
  constexpr const char* kBuiltIn = "built-in template";
  if (why.code == base::ErrorCode::NotFound) {
    return FoundTemplate{
        templates::default_template(), kBuiltIn,
        fmt::format("the cluster has no configmap {}", cluster::kTemplateConfigMap)};
  }
  if (why.code != base::ErrorCode::Forbidden) {
    return why;
  }
  return FoundTemplate{templates::default_template(), kBuiltIn,
                       fmt::format("the cluster's own is not known: {}",
                                   cluster::with_way_out(std::move(why)).message),
                       false};
}

}  // namespace

std::string FoundTemplate::describe() const {
  return fmt::format("{} ({}){}{}", source, tpl.hash, note.empty() ? "" : ": ", note);
}

base::Result<FoundTemplate> find_template(kube::RestClient& client, const TemplateChoice& choice,
                                          std::istream& in, const std::stop_token& stop) {
  if (!choice.file.empty()) {
    return template_of_file(choice, in);
  }
  const std::string name =
      choice.config_map.empty() ? std::string(cluster::kTemplateConfigMap) : choice.config_map;
  INJ_ASSIGN(auto place, cluster::parse_object_name(name, client.default_namespace()));
  auto object = client.get({kube::kConfigMaps, place.name_space, place.name, ""}, stop);
  if (object) {
    return template_in_service(client, object.value(), place, choice.options, stop);
  }
  if (choice.config_map.empty()) {
    return template_without_config_map(std::move(object).error());
  }
  return base::annotate(cluster::with_way_out(std::move(object).error()), "load template");
}

}  // namespace injector::cli
