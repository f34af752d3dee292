#include "admission/metrics.h"

#include <string>

#include <prometheus/client_metric.h>
#include <prometheus/metric_family.h>

namespace injector::admission {
namespace {

using core::Outcome;
using core::Reason;

constexpr std::size_t kLongestName = 63;  // Of a Namespace.

prometheus::Family<prometheus::Counter>& request_family(prometheus::Registry& registry) {
  return prometheus::BuildCounter()
      .Name("envoy_initializer_admission_requests_total")
      .Help("Admission requests by outcome and reason.")
      .Register(registry);
}

prometheus::Histogram& duration_of(prometheus::Registry& registry) {
  return prometheus::BuildHistogram()
      .Name("envoy_initializer_admission_duration_seconds")
      .Help("Time from the whole request to the whole answer.")
      .Register(registry)
      .Add({},
           prometheus::Histogram::BucketBoundaries{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005,
                                                   0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1});
}

prometheus::Counter& counter(prometheus::Family<prometheus::Counter>& family,
                             std::string_view outcome, std::string_view reason) {
  return family.Add({{"outcome", std::string(outcome)}, {"reason", std::string(reason)}});
}

prometheus::ClientMetric gauge(double number) {
  prometheus::ClientMetric metric;
  metric.gauge.value = number;
  return metric;
}

prometheus::ClientMetric value(double number, prometheus::ClientMetric::Label label) {
  prometheus::ClientMetric metric;
  metric.label.push_back(std::move(label));
  metric.counter.value = number;
  metric.gauge.value = number;
  return metric;
}

}  // namespace

NamespaceCounts::NamespaceCounts(prometheus::Registry& registry)
    : requests_(prometheus::BuildCounter()
                    .Name("envoy_initializer_admission_requests_by_namespace_total")
                    .Help("Admission requests by the Pod's Namespace and outcome.")
                    .Register(registry)) {}

void NamespaceCounts::count(std::string_view name_space, Outcome outcome) {
  requests_.Add({{"namespace", known(name_space)}, {"outcome", std::string(to_string(outcome))}})
      .Increment();
}

// Empty for those beyond the limit, and for what cannot be a Namespace's name.
std::string NamespaceCounts::known(std::string_view name_space) {
  if (name_space.size() > kLongestName) {
    return {};
  }
  const base::MutexLock lock(mutex_);
  if (!names_.contains(name_space)) {
    if (names_.size() >= kMaxNamespaces) {
      return {};
    }
    names_.emplace(name_space);
  }
  return std::string(name_space);
}

AdmissionMetrics::AdmissionMetrics(prometheus::Registry& registry, ByNamespace by_namespace)
    : requests_(request_family(registry)),
      failures_{
          {AdmissionFailure::BadRequest, &counter(requests_, "error", "BadRequest")},
          {AdmissionFailure::NoTemplate, &counter(requests_, "error", "NoTemplate")},
          {AdmissionFailure::Busy, &counter(requests_, "error", "Busy")},
          {AdmissionFailure::OutOfMemory, &counter(requests_, "error", "OutOfMemory")},
      },
      duration_(duration_of(registry)) {
  const auto add = [&](Outcome outcome, Reason reason) {
    counters_[{outcome, reason}] = &counter(requests_, to_string(outcome), to_string(reason));
  };
  add(Outcome::Inject, Reason::Injected);
  add(Outcome::Refuse, Reason::VolumeConflict);
  for (const Reason reason :
       {Reason::NotRequested, Reason::OptedOut, Reason::UnrecognizedValue,
        Reason::AlreadyInitialized, Reason::HostNetwork, Reason::WindowsPod, Reason::MirrorPod,
        Reason::NotAPod, Reason::NotCreate, Reason::VolumeConflict, Reason::UnknownTemplate,
        Reason::TemplateConflict, Reason::OverrideNotAllowed, Reason::MissingValue}) {
    add(Outcome::Skip, reason);
  }
  if (by_namespace == ByNamespace::Yes) {
    by_namespace_.emplace(registry);
  }
}

void AdmissionMetrics::count(const Admitted& admitted) {
  const auto found = counters_.find({admitted.outcome, admitted.reason});
  if (found != counters_.end()) {
    found->second->Increment();
  }
  duration_.Observe(admitted.seconds);
  if (by_namespace_) {
    by_namespace_->count(admitted.name_space, admitted.outcome);
  }
}

void AdmissionMetrics::count_failure(AdmissionFailure failure) {
  failures_.at(failure)->Increment();
}

std::vector<prometheus::MetricFamily> TemplateMetrics::Collect() const {
  const templates::TemplateStore::Counts counts = templates_.counts();
  prometheus::MetricFamily loads;
  loads.name = "envoy_initializer_template_loads_total";
  loads.help = "Templates taken up, by result.";
  loads.type = prometheus::MetricType::Counter;
  loads.metric = {value(static_cast<double>(counts.loaded), {"result", "success"}),
                  value(static_cast<double>(counts.failed), {"result", "failure"})};
  prometheus::MetricFamily rejected;
  rejected.name = "envoy_initializer_template_rejected";
  rejected.help = "1 while the newest template cannot be used, 0 otherwise.";
  rejected.type = prometheus::MetricType::Gauge;
  rejected.metric = {gauge(templates_.failure() ? 1 : 0)};
  std::vector<prometheus::MetricFamily> families = {loads, rejected};
  if (const auto templates = templates_.current()) {
    prometheus::MetricFamily info;
    info.name = "envoy_initializer_template_info";
    info.help = "Always 1; one for each template that serves, by name, namespace and hash.";
    info.type = prometheus::MetricType::Gauge;
    for (const core::ServedTemplate& served : templates->templates()) {
      info.metric.push_back(value(1, {"hash", served.tpl->hash}));
      info.metric.back().label.push_back({"name", served.tpl->name});
      info.metric.back().label.push_back({"namespace", served.name_space});
    }
    families.push_back(info);
  }
  return families;
}

}  // namespace injector::admission
