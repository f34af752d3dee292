#include "cli/cluster_template.h"

#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/json_text.h"
#include "cli/inputs.h"
#include "cluster/last_good_template.h"
#include "cluster/template_place.h"
#include "kube/discovery.h"
#include "template/files.h"
#include "template/parser.h"

namespace injector::cli {
namespace {

using base::Json;

// Where the server does not say, as for files.
core::NativeSidecars native_sidecars_in(kube::RestClient& client, const std::stop_token& stop) {
  const auto served = kube::serves_native_sidecars(client, stop);
  return served && !served.value() ? core::NativeSidecars::No : core::NativeSidecars::Yes;
}

base::Result<FoundTemplate> template_of_files(const TemplateChoice& choice,
                                              core::NativeSidecars native, std::istream& in) {
  INJ_ASSIGN(auto templates, load_template_files(choice.files, choice.options, native, in));
  return FoundTemplate{
      std::move(templates), fmt::format("file {}", fmt::join(choice.files, ", ")), {}};
}

base::Result<FoundTemplate> template_of_object(const Json& object, const cluster::ObjectName& name,
                                               const templates::TemplateOptions& options,
                                               core::NativeSidecars native) {
  std::string source = fmt::format("configmap {}/{}", name.name_space, name.name);
  INJ_ASSIGN(auto templates,
             templates::load_templates({{base::write_json(object), source}}, options, native));
  return FoundTemplate{std::move(templates), std::move(source), {}};
}

// The content that the webhook fell back to, if it had to; nothing where there is none to be had.
std::optional<FoundTemplate> last_good_of(kube::RestClient& client, const cluster::ObjectName& name,
                                          const templates::TemplateOptions& options,
                                          core::NativeSidecars native,
                                          const std::stop_token& stop) {
  const cluster::ObjectName kept{name.name_space, name.name + cluster::kLastGoodSuffix};
  const auto object = client.get({kube::kConfigMaps, kept.name_space, kept.name, ""}, stop);
  auto found = object ? template_of_object(object.value(), kept, options, native)
                      : base::Result<FoundTemplate>(object.error());
  return found ? std::optional(std::move(found).value()) : std::nullopt;
}

// What the webhook serves of a ConfigMap: its content, or the last that could be used.
base::Result<FoundTemplate> template_in_service(kube::RestClient& client, const Json& object,
                                                const cluster::ObjectName& name,
                                                const templates::TemplateOptions& options,
                                                const std::stop_token& stop) {
  const core::NativeSidecars native = native_sidecars_in(client, stop);
  auto found = template_of_object(object, name, options, native);
  auto kept = last_good_of(client, name, options, native, stop);
  if (!kept) {
    return found;
  }
  if (!found) {
    kept->note = fmt::format("configmap {}/{} cannot be used: {}", name.name_space, name.name,
                             found.error().message.substr(0, found.error().message.find('\n')));
    return *std::move(kept);
  }
  if (found.value().templates.fingerprint() != kept->templates.fingerprint()) {
    found.value().note = fmt::format(
        "the last one that was accepted is {}: this one is on its way, or was refused (see "
        "/readyz?verbose of the webhook)",
        kept->templates.fingerprint());
  }
  return found;
}

// Nobody named a ConfigMap, and the usual one cannot be had: why decides what that means.
base::Result<FoundTemplate> template_without_config_map(base::Error why,
                                                        core::NativeSidecars native) {
  constexpr const char* kBuiltIn = "built-in template";
  if (why.code == base::ErrorCode::NotFound) {
    return FoundTemplate{
        builtin_templates(native), kBuiltIn,
        fmt::format("the cluster has no configmap {}", cluster::kTemplateConfigMap)};
  }
  if (why.code != base::ErrorCode::Forbidden) {
    return why;
  }
  return FoundTemplate{builtin_templates(native), kBuiltIn,
                       fmt::format("the cluster's own is not known: {}",
                                   cluster::with_way_out(std::move(why)).message),
                       false};
}

}  // namespace

std::string FoundTemplate::describe() const {
  return fmt::format("{} ({}){}{}", source, templates.fingerprint(), note.empty() ? "" : ": ",
                     note);
}

base::Result<core::TemplateSet> load_template_files(const std::vector<std::string>& files,
                                                    const templates::TemplateOptions& options,
                                                    core::NativeSidecars native, std::istream& in) {
  const auto texts = templates::read_template_texts(
      files, [&in](const std::string& path) { return read_input(path, in); });
  if (!texts) {
    return base::annotate(texts.error(), "load template");
  }
  return templates::load_templates(texts.value(), options, native);
}

core::TemplateSet builtin_templates(core::NativeSidecars native) {
  core::ServedTemplate served{std::make_shared<const core::Template>(templates::default_template()),
                              "built-in template"};
  return core::TemplateSet({std::move(served)}, native);
}

base::Result<FoundTemplate> find_template(kube::RestClient& client, const TemplateChoice& choice,
                                          std::istream& in, const std::stop_token& stop) {
  if (!choice.files.empty()) {
    return template_of_files(choice, native_sidecars_in(client, stop), in);
  }
  const std::string name =
      choice.config_map.empty() ? std::string(cluster::kTemplateConfigMap) : choice.config_map;
  INJ_ASSIGN(auto place, cluster::parse_object_name(name, client.default_namespace()));
  auto object = client.get({kube::kConfigMaps, place.name_space, place.name, ""}, stop);
  if (object) {
    return template_in_service(client, object.value(), place, choice.options, stop);
  }
  if (choice.config_map.empty()) {
    return template_without_config_map(std::move(object).error(), native_sidecars_in(client, stop));
  }
  return base::annotate(cluster::with_way_out(std::move(object).error()), "load template");
}

}  // namespace injector::cli
