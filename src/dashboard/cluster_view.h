// The views of a cluster: informers of Pods, workloads and Namespaces keep the Inventory and the
// live feed up to date. What is not followed (template, registration, the webhook's metrics) is
// asked for now and then by whoever owns this, and set here.
//
// Every method may be called from any thread.

#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/mutex.h"
#include "base/result.h"
#include "cli/explain_live.h"
#include "cluster/running_informer.h"
#include "kube/rest_client.h"
#include "runtime/loop_context.h"

#include "dashboard/inventory.h"
#include "dashboard/live_feed.h"
#include "dashboard/routes.h"

namespace injector::dashboard {

/// What is asked for now and then.
struct Surroundings {
  std::string cluster;          // The lead of the overview: which cluster this is.
  core::TemplateSet in_use;     // What Pods are compared with.
  std::string template_source;  // "configmap ns/name (sha256:...)"
  base::Json templates = base::Json::array();
  base::Json certificates = base::Json::array();
  base::Json webhook = base::Json::object();
  cli::Registration registration;
  std::vector<std::string> notes;  // What is not known, and why.
};

/// One object as the cluster has it, with its Namespace.
using LiveLookup = std::function<base::Result<cli::LiveObject>(
    const std::string& name_space, const std::string& kind, const std::string& name)>;

class ClusterView {
 public:
  /// `client` and `feed` are not owned and outlive this, as does the context's clock.
  ClusterView(kube::RestClient& client, const core::Policy& policy, Surroundings first,
              LiveLookup look_up, LiveFeed& feed, const runtime::LoopContext& loop_context);

  /// Begins to follow the cluster.
  void start();

  /// Newer surroundings. Another template has every row looked at again.
  void set(Surroundings next) INJ_EXCLUDES(mutex_);

  [[nodiscard]] const Inventory& inventory() const noexcept { return inventory_; }

  [[nodiscard]] base::Json templates() const INJ_EXCLUDES(mutex_);

  /// Functions that use this, which outlives them.
  [[nodiscard]] ClusterPages pages();

 private:
  using SurroundingsPtr = std::shared_ptr<const Surroundings>;

  [[nodiscard]] SurroundingsPtr surroundings() const INJ_EXCLUDES(mutex_);
  void follow_namespaces();
  void follow_pods();
  void follow_workloads(const kube::Resource& kind);
  void put_all_again(const std::string& name_space);
  void tell(const runtime::Object& object, std::string_view what, const std::string& state);
  [[nodiscard]] base::Json overview() const INJ_EXCLUDES(mutex_);
  [[nodiscard]] base::Result<base::Json> workload(const std::string& name_space,
                                                  const std::string& kind,
                                                  const std::string& name) const
      INJ_EXCLUDES(mutex_);

  kube::RestClient& client_;  // Not owned.
  const LiveLookup look_up_;
  LiveFeed& feed_;  // Not owned.
  const runtime::LoopContext loop_context_;
  Inventory inventory_;

  mutable base::Mutex mutex_;
  SurroundingsPtr surroundings_ INJ_GUARDED_BY(mutex_);

  // Last: their threads use the others. The first is that of the Namespaces, the second that of the
  // Pods.
  std::list<cluster::RunningInformer> informers_;
};

}  // namespace injector::dashboard
