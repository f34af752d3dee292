#include "admission/metrics.h"

#include <string>

#include <prometheus/client_metric.h>
#include <prometheus/metric_family.h>

namespace injector::admission {
namespace {

using core::Outcome;
using core::Reason;

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
      .Add({}, prometheus::Histogram::BucketBoundaries{0.00001, 0.000025, 0.00005, 0.0001, 0.00025,
                                                       0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05,
                                                       0.1, 0.5});
}

prometheus::Counter& counter(prometheus::Family<prometheus::Counter>& family,
                             std::string_view outcome, std::string_view reason) {
  return family.Add({{"outcome", std::string(outcome)}, {"reason", std::string(reason)}});
}

prometheus::ClientMetric value(double number, prometheus::ClientMetric::Label label) {
  prometheus::ClientMetric metric;
  metric.label.push_back(std::move(label));
  metric.counter.value = number;
  metric.gauge.value = number;
  return metric;
}

}  // namespace

AdmissionMetrics::AdmissionMetrics(prometheus::Registry& registry)
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
        Reason::NotAPod, Reason::NotCreate, Reason::VolumeConflict}) {
    add(Outcome::Skip, reason);
  }
}

void AdmissionMetrics::count(Outcome outcome, Reason reason, double seconds) {
  const auto found = counters_.find({outcome, reason});
  if (found != counters_.end()) {
    found->second->Increment();
  }
  duration_.Observe(seconds);
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
  std::vector<prometheus::MetricFamily> families = {loads};
  if (const auto tpl = templates_.current()) {
    prometheus::MetricFamily info;
    info.name = "envoy_initializer_template_info";
    info.help = "Always 1; the label is the hash of the template that serves.";
    info.type = prometheus::MetricType::Gauge;
    info.metric = {value(1, {"hash", tpl->hash})};
    families.push_back(info);
  }
  return families;
}

}  // namespace injector::admission
