// What the webhook counts. Thread-safe. Labels have few values: never a Pod's name.

#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <prometheus/collectable.h>
#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include "base/mutex.h"
#include "core/decision.h"
#include "template/store.h"

namespace injector::admission {

enum class AdmissionFailure { BadRequest, NoTemplate, Busy, OutOfMemory };

/// What came of a request, and how long that took.
struct Admitted {
  std::string_view name_space;
  core::Outcome outcome = core::Outcome::Skip;
  core::Reason reason = core::Reason::NotRequested;
  double seconds = 0;
};

/// envoy_initializer_admission_requests_by_namespace_total{namespace,outcome}. Whoever reaches the
/// port chooses the names, so there are at most kMaxNamespaces of them; the rest are counted
/// together, without a name.
class NamespaceCounts {
 public:
  static constexpr std::size_t kMaxNamespaces = 1000;

  explicit NamespaceCounts(prometheus::Registry& registry);

  void count(std::string_view name_space, core::Outcome outcome) INJ_EXCLUDES(mutex_);

 private:
  [[nodiscard]] std::string known(std::string_view name_space) INJ_EXCLUDES(mutex_);

  prometheus::Family<prometheus::Counter>& requests_;
  base::Mutex mutex_;
  std::set<std::string, std::less<>> names_ INJ_GUARDED_BY(mutex_);
};

enum class ByNamespace { No, Yes };

/// envoy_initializer_admission_requests_total{outcome,reason} and
/// envoy_initializer_admission_duration_seconds; NamespaceCounts if asked for.
class AdmissionMetrics {
 public:
  explicit AdmissionMetrics(prometheus::Registry& registry,
                            ByNamespace by_namespace = ByNamespace::No);

  void count(const Admitted& admitted);
  void count_failure(AdmissionFailure failure);

 private:
  prometheus::Family<prometheus::Counter>& requests_;
  // Looked up once: the registry's own look-up takes a lock and hashes the labels.
  std::map<std::pair<core::Outcome, core::Reason>, prometheus::Counter*> counters_;
  std::map<AdmissionFailure, prometheus::Counter*> failures_;
  prometheus::Histogram& duration_;
  std::optional<NamespaceCounts> by_namespace_;
};

/// envoy_initializer_template_loads_total{result}, envoy_initializer_template_rejected and
/// envoy_initializer_template_info{hash}.
class TemplateMetrics final : public prometheus::Collectable {
 public:
  explicit TemplateMetrics(const templates::TemplateStore& templates)
      : templates_(templates) {}

  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const templates::TemplateStore& templates_;  // Not owned; outlives the metrics.
};

}  // namespace injector::admission
