// What the webhook counts. Thread-safe. Labels have few values: never a Pod's name.

#pragma once

#include <map>
#include <utility>
#include <vector>

#include <prometheus/collectable.h>
#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include "core/decision.h"
#include "template/store.h"

namespace injector::admission {

enum class AdmissionFailure { BadRequest, NoTemplate, Busy, OutOfMemory };

/// envoy_initializer_admission_requests_total{outcome,reason} and
/// envoy_initializer_admission_duration_seconds.
class AdmissionMetrics {
 public:
  explicit AdmissionMetrics(prometheus::Registry& registry);

  void count(core::Outcome outcome, core::Reason reason, double seconds);
  void count_failure(AdmissionFailure failure);

 private:
  prometheus::Family<prometheus::Counter>& requests_;
  // Looked up once: the registry's own look-up takes a lock and hashes the labels.
  std::map<std::pair<core::Outcome, core::Reason>, prometheus::Counter*> counters_;
  std::map<AdmissionFailure, prometheus::Counter*> failures_;
  prometheus::Histogram& duration_;
};

/// envoy_initializer_template_loads_total{result} and envoy_initializer_template_info{hash}.
class TemplateMetrics final : public prometheus::Collectable {
 public:
  explicit TemplateMetrics(const templates::TemplateStore& templates)
      : templates_(templates) {}

  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const templates::TemplateStore& templates_;  // Not owned; outlives the metrics.
};

}  // namespace injector::admission
