#include "app/cluster.h"

#include <utility>

#include <fmt/format.h>

#include "codec/json.h"
#include "kube/connect.h"

namespace injector::app {
namespace {

using base::Json;

// What is left of a Namespace: its name, and whether it says anything about the sidecar.
void trim_namespace(Json& object, const std::string& key) {
  Json metadata = Json::object();
  for (const char* field : {"name", "uid", "resourceVersion"}) {
    if (const Json* value = base::find(std::as_const(object), "metadata", field)) {
      metadata[field] = *value;
    }
  }
  for (const char* map : {"labels", "annotations"}) {
    if (const Json* value = base::find(std::as_const(object), "metadata", map, key)) {
      metadata[map] = Json::object({{key, *value}});
    }
  }
  object = Json::object({{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", metadata}});
}

}  // namespace

void ClusterFlags::add_to(CLI::App& command) {
  command.add_option("--kubeconfig", options.kubeconfig,
                     "[default: KUBECONFIG, ~/.kube/config, or the Pod's service account]");
  command.add_option("--context", options.context, "The kubeconfig's context to use");
  command.add_option("--master", options.master,
                     "The API server's address, instead of the kubeconfig's");
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

RunningInformer::RunningInformer(kube::RestClient& client, kube::Resource resource,
                                 kube::Selection selection, runtime::InformerOptions options,
                                 const runtime::Ambient& ambient)
    : server_(client, std::move(resource), std::move(selection)),
      informer_(server_, std::move(options), ambient) {}

void RunningInformer::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { informer_.run(stop); });
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

base::Result<core::Template> fetch_template(kube::RestClient& client, const std::string& name,
                                            const codec::TemplateOptions& options) {
  auto place = parse_object_name(name, client.default_namespace());
  if (!place) {
    return std::move(place).error();
  }
  auto object =
      client.get({kube::kConfigMaps, place.value().name_space, place.value().name, ""}, {});
  if (!object) {
    return base::annotate(std::move(object).error(), "load template");
  }
  return codec::parse_template(codec::write_json(object.value()), "configmap " + name, options);
}

TemplateConfigMap::TemplateConfigMap(kube::RestClient& client, const ObjectName& name,
                                     codec::TemplateStore& templates,
                                     const runtime::Ambient& ambient)
    : origin_(fmt::format("configmap {}/{}", name.name_space, name.name)),
      templates_(templates),
      running_(client, kube::kConfigMaps,
               {.name_space = name.name_space, .field_selector = "metadata.name=" + name.name},
               {.kind = "ConfigMap"}, ambient) {
  running_.informer().add_handler({
      .on_add = [this](const runtime::Added& event) { load(*event.object); },
      .on_update =
          [this](const runtime::Updated& event) {
            if (event.before->resource_version != event.now->resource_version) {
              load(*event.now);
            }
          },
      .on_delete =
          [this](const runtime::Deleted&) {
            templates_.report_failure({base::ErrorCode::NotFound, origin_ + " was deleted"});
          },
  });
  running_.start();
}

void TemplateConfigMap::load(const runtime::Object& object) {
  static_cast<void>(templates_.update(object.json, origin_));  // The store reports its failures.
}

NamespaceCache::NamespaceCache(kube::RestClient& client, const std::string& key,
                               const runtime::Ambient& ambient)
    : running_(
          client, kube::kNamespaces, {},
          {.kind = "Namespace", .transform = [key](Json& object) { trim_namespace(object, key); }},
          ambient) {
  running_.informer().add_handler({
      .on_add =
          [this](const runtime::Added& event) {
            if (!event.in_initial_list) {
              note_change(event.object->name);
            }
          },
      .on_update =
          [this](const runtime::Updated& event) {
            if (event.before->resource_version != event.now->resource_version) {
              note_change(event.now->name);
            }
          },
      .on_delete = {},
  });
  running_.start();
}

void NamespaceCache::note_change(const std::string& name) {
  const base::MutexLock lock(mutex_);
  changed_.insert(name);
}

std::set<std::string> NamespaceCache::take_changed() {
  const base::MutexLock lock(mutex_);
  return std::exchange(changed_, {});
}

std::shared_ptr<const core::MetaFacts> NamespaceCache::find(const std::string& name) {
  const runtime::ObjectPtr object = running_.informer().store().get("", name);
  if (object == nullptr) {
    return nullptr;
  }
  const auto parsed = codec::read_json(object->json);
  return parsed ? std::make_shared<const core::MetaFacts>(core::meta_facts(parsed.value()))
                : nullptr;
}

}  // namespace injector::app
