// What a Pod's Namespace says, as fresh as the answer needs it. A cache that follows the cluster is
// always a moment behind, so that of "label the Namespace, then create the Pod" a few would miss
// their sidecar. Hence:
//
//   - a cached Namespace that asks, while the cache is being kept up to date, is believed;
//   - everything else (it does not ask, is unknown, the watch is down) is asked of the server;
//   - where the server does not answer in time, the cached state has to do.
//
// The cost is bounded: a few requests at a time, a total time for each look, and while the cache is
// up to date so many looks a second. With the registration of manifests/, the API server calls us
// for a Pod that says nothing only if its Namespace asks, so that such a look is rare.
//
// May be called from any thread; find() blocks its caller for at most the options' timeout.

#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <prometheus/collectable.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/result.h"
#include "core/pod_facts.h"
#include "core/policy.h"

namespace injector::cluster {

using NamespaceFacts = std::shared_ptr<const core::MetaFacts>;

/// Where Namespaces come from. Called concurrently.
struct NamespaceSource {
  std::function<NamespaceFacts(const std::string& name)>
      cached;                                    // Null: not known. Does not block.
  std::function<base::Duration()> out_of_touch;  // For how long the cache was not kept up to date.
  /// The server's own answer within `timeout`. NotFound: there is no such Namespace.
  std::function<base::Result<core::MetaFacts>(const std::string& name, base::Duration timeout)>
      fetch;
};

struct FreshNamespacesOptions {
  base::Duration timeout{800};    // Of a look, waiting for its turn included.
  std::size_t at_once = 8;        // Requests to the server.
  std::size_t a_second = 100;     // Looks while the cache is up to date; beyond, it is believed.
  base::Duration missing{1'000};  // How long "no such Namespace" is remembered.
};

class FreshNamespaces {
 public:
  struct Counts {
    std::uint64_t answered = 0;  // By the server, "no such Namespace" included.
    std::uint64_t failed = 0;    // It did not answer, or refused.
    std::uint64_t spared = 0;    // The bounds were reached: not asked.
  };

  /// `clock` is not owned and outlives this.
  FreshNamespaces(NamespaceSource source, core::Policy policy, const base::Clock& clock,
                  base::Logger log, FreshNamespacesOptions options = {});

  /// What can be said without asking the server, null as in find(). Nothing: it has to be asked.
  /// Does not block.
  [[nodiscard]] std::optional<NamespaceFacts> find_at_once(const std::string& name)
      INJ_EXCLUDES(mutex_);

  /// Null: there is no such Namespace, or nothing is known of it.
  [[nodiscard]] NamespaceFacts find(const std::string& name) INJ_EXCLUDES(mutex_);

  /// Zero while the cache is kept up to date.
  [[nodiscard]] base::Duration out_of_touch() const { return source_.out_of_touch(); }

  [[nodiscard]] Counts counts() const INJ_EXCLUDES(mutex_);

 private:
  [[nodiscard]] bool is_up_to_date() const;
  [[nodiscard]] bool asks(const core::MetaFacts& facts) const;
  [[nodiscard]] bool may_ask(base::TimePoint now, bool up_to_date) INJ_EXCLUDES(mutex_);
  [[nodiscard]] bool wait_for_turn(std::chrono::steady_clock::time_point deadline)
      INJ_EXCLUDES(mutex_);
  [[nodiscard]] NamespaceFacts fetch(const std::string& name, NamespaceFacts cached,
                                     std::chrono::steady_clock::time_point deadline);
  void finish(const std::string& name, const base::Result<core::MetaFacts>& answer)
      INJ_EXCLUDES(mutex_);
  [[nodiscard]] bool known_missing(const std::string& name, base::TimePoint now)
      INJ_EXCLUDES(mutex_);
  void count_spared() INJ_EXCLUDES(mutex_);

  const NamespaceSource source_;
  const core::Policy policy_;
  const base::Clock& clock_;  // Not owned.
  const base::Logger log_;
  const FreshNamespacesOptions options_;

  mutable base::Mutex mutex_;
  std::condition_variable_any turn_;
  std::size_t running_ INJ_GUARDED_BY(mutex_) = 0;
  std::optional<base::TimePoint> window_ INJ_GUARDED_BY(mutex_);  // The second that is counted,
  std::size_t in_window_ INJ_GUARDED_BY(mutex_) = 0;              // and the looks in it.
  std::map<std::string, base::TimePoint> missing_ INJ_GUARDED_BY(mutex_);  // Since when.
  bool failing_ INJ_GUARDED_BY(mutex_) = false;  // The last one failed: logged once.
  Counts counts_ INJ_GUARDED_BY(mutex_);
};

/// envoy_initializer_namespace_cache_age_seconds and
/// envoy_initializer_namespace_lookups_total{result}.
class NamespaceMetrics final : public prometheus::Collectable {
 public:
  explicit NamespaceMetrics(const FreshNamespaces& namespaces)
      : namespaces_(namespaces) {}

  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const FreshNamespaces& namespaces_;  // Not owned; outlives the metrics.
};

}  // namespace injector::cluster
