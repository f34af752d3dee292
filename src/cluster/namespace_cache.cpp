#include "cluster/namespace_cache.h"

#include <utility>

#include "base/json.h"
#include "base/json_text.h"
#include "kube/resource.h"

namespace injector::cluster {
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

base::Result<core::MetaFacts> fetch_namespace(kube::RestClient& client, const std::string& name,
                                              base::Duration timeout) {
  const auto path = kube::path_of({kube::kNamespaces, "", name, ""});
  if (!path) {
    return path.error();
  }
  const auto object = client.call({.path = path.value(), .timeout = timeout}, {});
  return object ? base::Result<core::MetaFacts>(core::meta_facts(object.value()))
                : base::Result<core::MetaFacts>(object.error());
}

NamespaceCache::NamespaceCache(kube::RestClient& client, const std::string& key,
                               const runtime::LoopContext& loop_context)
    : running_(
          client, kube::kNamespaces, {},
          {.kind = "Namespace", .transform = [key](Json& object) { trim_namespace(object, key); }},
          loop_context) {
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
      .on_delete = [this](const runtime::Deleted& event) { forget(event.last->name); },
  });
  running_.start();
}

void NamespaceCache::note_change(const std::string& name) {
  const base::MutexLock lock(mutex_);
  changed_.insert(name);
  arrived_.notify_all();
}

std::set<std::string> NamespaceCache::wait_for_changes(const std::stop_token& stop) {
  const base::MutexLock lock(mutex_);
  arrived_.wait(mutex_, stop, [this]() INJ_REQUIRES(mutex_) { return !changed_.empty(); });
  return stop.stop_requested() ? std::set<std::string>() : std::exchange(changed_, {});
}

// Unless the Namespace is back already: its handler is a little behind the store.
void NamespaceCache::forget(const std::string& name) {
  if (running_.informer().store().get("", name) != nullptr) {
    return;
  }
  const base::MutexLock lock(mutex_);
  changed_.erase(name);
  known_.erase(name);
}

std::shared_ptr<const core::MetaFacts> NamespaceCache::find(const std::string& name) {
  const runtime::ObjectPtr object = running_.informer().store().get("", name);
  if (object == nullptr) {
    return nullptr;
  }
  {
    const base::MutexLock lock(mutex_);
    const auto found = known_.find(name);
    if (found != known_.end() && found->second.object == object) {
      return found->second.facts;
    }
  }
  const auto parsed = base::read_json(object->json);
  if (!parsed) {
    return nullptr;
  }
  auto facts = std::make_shared<const core::MetaFacts>(core::meta_facts(parsed.value()));
  const base::MutexLock lock(mutex_);
  known_[name] = {object, facts};
  return facts;
}

}  // namespace injector::cluster
