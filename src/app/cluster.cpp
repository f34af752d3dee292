#include "app/cluster.h"

#include <iostream>
#include <utility>

#include <fmt/format.h>

#include "base/json_text.h"
#include "cli/inputs.h"
#include "cluster/last_good_template.h"
#include "kube/connect.h"
#include "template/parser.h"

namespace injector::app {
namespace {

using base::Json;

base::Error with_way_out(base::Error error) {
  if (error.code == base::ErrorCode::Forbidden) {
    error.message += "; give the template with --config FILE or --configmap NS/NAME";
  }
  return error;
}

base::Result<FoundTemplate> template_of_file(const TemplateChoice& choice) {
  auto text = cli::read_input(choice.file, std::cin);
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
    return FoundTemplate{templates::default_template(), kBuiltIn,
                         fmt::format("the cluster has no configmap {}", kTemplateConfigMap)};
  }
  if (why.code != base::ErrorCode::Forbidden) {
    return why;
  }
  return FoundTemplate{
      templates::default_template(), kBuiltIn,
      fmt::format("the cluster's own is not known: {}", with_way_out(std::move(why)).message),
      false};
}

}  // namespace

void ClusterFlags::add_to(CLI::App& command) {
  command.add_option("--kubeconfig", options.kubeconfig,
                     "[default: KUBECONFIG, ~/.kube/config, or the Pod's service account]");
  command.add_option("--context", options.context, "The kubeconfig's context to use");
  command.add_option("--master", options.master,
                     "The API server's address, instead of the kubeconfig's");
}

bool ClusterFlags::of_our_pod() const {
  const auto config = kube::load_config(options, kube::Environment::of_process());
  return config && config.value().context == kube::kInCluster;
}

base::Result<std::unique_ptr<kube::RestClient>> ClusterFlags::connect(
    prometheus::Registry* metrics) const {
  kube::RestOptions rest;
  rest.metrics = metrics;
  return connect(std::move(rest));
}

base::Result<std::unique_ptr<kube::RestClient>> ClusterFlags::connect(
    kube::RestOptions rest) const {
  return kube::connect(options, std::move(rest));
}

base::Result<std::unique_ptr<kube::RestClient>> ClusterFlags::connect_for_command() const {
  kube::RestOptions rest;
  rest.qps = 0;
  rest.timeout = kCommandPatience;
  rest.broken_retry = std::chrono::milliseconds(200);
  return connect(std::move(rest));
}

base::Result<cluster::ObjectName> parse_object_name(const std::string& text,
                                                    const std::string& default_namespace) {
  const std::size_t slash = text.find('/');
  cluster::ObjectName name =
      slash == std::string::npos
          ? cluster::ObjectName{default_namespace, text}
          : cluster::ObjectName{text.substr(0, slash), text.substr(slash + 1)};
  if (name.name_space.empty() || name.name.empty() || name.name.find('/') != std::string::npos) {
    return base::invalid(
        fmt::format("\"{}\" is not a name such as envoy-initializer or ns/name", text));
  }
  return name;
}

base::Result<core::Template> fetch_template(kube::RestClient& client, const std::string& name,
                                            const templates::TemplateOptions& options) {
  INJ_ASSIGN(auto place, parse_object_name(name, client.default_namespace()));
  auto object = client.get({kube::kConfigMaps, place.name_space, place.name, ""}, {});
  if (!object) {
    return base::annotate(std::move(object).error(), "load template");
  }
  return templates::parse_template(base::write_json(object.value()), "configmap " + name, options);
}

base::Result<std::optional<cluster::ObjectName>> find_template_config_map(
    kube::RestClient& client, const std::string& name, const std::stop_token& stop) {
  auto place =
      parse_object_name(name.empty() ? kTemplateConfigMap : name, client.default_namespace());
  if (!place) {
    return std::move(place).error();
  }
  const cluster::ObjectName& wanted = place.value();
  const auto object = client.get({kube::kConfigMaps, wanted.name_space, wanted.name, ""}, stop);
  if (object) {
    return std::optional<cluster::ObjectName>(wanted);
  }
  if (object.error().code == base::ErrorCode::NotFound && name.empty()) {
    return std::optional<cluster::ObjectName>();
  }
  return base::annotate(with_way_out(object.error()), "find template");
}

std::string FoundTemplate::describe() const {
  return fmt::format("{} ({}){}{}", source, tpl.hash, note.empty() ? "" : ": ", note);
}

base::Result<FoundTemplate> find_template(kube::RestClient& client, const TemplateChoice& choice,
                                          const std::stop_token& stop) {
  if (!choice.file.empty()) {
    return template_of_file(choice);
  }
  const std::string name =
      choice.config_map.empty() ? std::string(kTemplateConfigMap) : choice.config_map;
  INJ_ASSIGN(auto place, parse_object_name(name, client.default_namespace()));
  auto object = client.get({kube::kConfigMaps, place.name_space, place.name, ""}, stop);
  if (object) {
    return template_in_service(client, object.value(), place, choice.options, stop);
  }
  if (choice.config_map.empty()) {
    return template_without_config_map(std::move(object).error());
  }
  return base::annotate(with_way_out(std::move(object).error()), "load template");
}

}  // namespace injector::app
