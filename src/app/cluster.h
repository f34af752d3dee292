// What the commands that talk to a cluster have in common: flags, a client, informers on threads.

#pragma once

#include <memory>
#include <set>
#include <string>
#include <thread>

#include <CLI/CLI.hpp>

#include "base/log.h"
#include "base/mutex.h"
#include "base/result.h"
#include "codec/template_store.h"
#include "core/pod_facts.h"
#include "kube/config.h"
#include "kube/resource_client.h"
#include "kube/rest_client.h"
#include "runtime/ambient.h"
#include "runtime/informer.h"

namespace injector::app {

/// --kubeconfig, --context, --master, with kubectl's loading rules.
struct ClusterFlags {
  kube::ConfigOptions options;

  void add_to(CLI::App& command);

  /// A client of that cluster.
  [[nodiscard]] base::Result<std::unique_ptr<kube::RestClient>> connect(
      kube::RestOptions rest) const;
  /// With the usual limits. `metrics` may be null; not owned, outlives the client.
  [[nodiscard]] base::Result<std::unique_ptr<kube::RestClient>> connect(
      prometheus::Registry* metrics) const;
};

/// An informer on its own thread, from construction to destruction.
class RunningInformer {
 public:
  /// The client and the ambience are not owned and outlive this.
  RunningInformer(kube::RestClient& client, kube::Resource resource, kube::Selection selection,
                  runtime::InformerOptions options, const runtime::Ambient& ambient);

  [[nodiscard]] runtime::Informer& informer() noexcept { return informer_; }

  /// Begins to follow the server; handlers are added before.
  void start();

 private:
  kube::ResourceClient server_;
  runtime::Informer informer_;
  std::jthread thread_;  // Last: it uses the others.
};

/// "ns/name"; a bare name is in `default_namespace`.
struct ObjectName {
  std::string name_space;
  std::string name;
};

[[nodiscard]] base::Result<ObjectName> parse_object_name(const std::string& text,
                                                         const std::string& default_namespace);

/// The template in the ConfigMap `name` ("[NS/]NAME"), read once.
[[nodiscard]] base::Result<core::Template> fetch_template(kube::RestClient& client,
                                                          const std::string& name,
                                                          const codec::TemplateOptions& options);

/// The template in a ConfigMap: followed by an informer on exactly that object.
class TemplateConfigMap {
 public:
  /// `templates` outlives this.
  TemplateConfigMap(kube::RestClient& client, const ObjectName& name,
                    codec::TemplateStore& templates, const runtime::Ambient& ambient);

  /// Blocks until the ConfigMap was looked up once, or `stop`.
  [[nodiscard]] bool wait_for_sync(const std::stop_token& stop) {
    return running_.informer().wait_for_sync(stop);
  }

 private:
  void load(const runtime::Object& object);

  std::string origin_;
  codec::TemplateStore& templates_;
  RunningInformer running_;  // Last: its thread uses the others.
};

/// The opt-in of every Namespace, for the decision's namespace rules.
class NamespaceCache {
 public:
  /// Keeps only the labels and annotations named `key`.
  NamespaceCache(kube::RestClient& client, const std::string& key, const runtime::Ambient& ambient);

  /// Null: no such Namespace, or nothing known yet.
  [[nodiscard]] std::shared_ptr<const core::MetaFacts> find(const std::string& name);

  /// The names of those that came or changed since the last call, or since the first list.
  [[nodiscard]] std::set<std::string> take_changed() INJ_EXCLUDES(mutex_);

  [[nodiscard]] bool has_synced() { return running_.informer().has_synced(); }

  [[nodiscard]] bool wait_for_sync(const std::stop_token& stop) {
    return running_.informer().wait_for_sync(stop);
  }

 private:
  void note_change(const std::string& name) INJ_EXCLUDES(mutex_);

  base::Mutex mutex_;
  std::set<std::string> changed_ INJ_GUARDED_BY(mutex_);
  RunningInformer running_;  // Last: its thread uses the others.
};

}  // namespace injector::app
