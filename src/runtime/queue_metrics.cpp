#include "runtime/queue_metrics.h"

namespace injector::runtime {
namespace {

using Labels = std::map<std::string, std::string>;

// 10 ns to 1000 s, as client-go has them.
prometheus::Histogram::BucketBoundaries decades() {
  return {1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 10, 100, 1000};
}

prometheus::Counter& counter(prometheus::Registry& registry, const char* name, const char* help,
                             const Labels& labels) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add(labels);
}

prometheus::Histogram& histogram(prometheus::Registry& registry, const char* name, const char* help,
                                 const Labels& labels) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add(labels,
                                                                                   decades());
}

}  // namespace

QueueMetrics::QueueMetrics(prometheus::Registry& registry, const std::string& queue)
    : depth_(&prometheus::BuildGauge()
                  .Name("workqueue_depth")
                  .Help("Keys in line")
                  .Register(registry)
                  .Add({{"name", queue}})),
      adds_(&counter(registry, "workqueue_adds_total", "Keys added", {{"name", queue}})),
      retries_(&counter(registry, "workqueue_retries_total", "Keys added again after a delay",
                        {{"name", queue}})),
      queue_duration_(&histogram(registry, "workqueue_queue_duration_seconds",
                                 "Time from add to take", {{"name", queue}})),
      work_duration_(&histogram(registry, "workqueue_work_duration_seconds",
                                "Time from take to release", {{"name", queue}})) {}

void QueueMetrics::added() const {
  if (adds_ != nullptr) {
    adds_->Increment();
  }
}

void QueueMetrics::lined_up() const {
  if (depth_ != nullptr) {
    depth_->Increment();
  }
}

void QueueMetrics::left_line() const {
  if (depth_ != nullptr) {
    depth_->Decrement();
  }
}

void QueueMetrics::retried() const {
  if (retries_ != nullptr) {
    retries_->Increment();
  }
}

void QueueMetrics::waited(Seconds time) const {
  if (queue_duration_ != nullptr) {
    queue_duration_->Observe(time.count());
  }
}

void QueueMetrics::worked(Seconds time) const {
  if (work_duration_ != nullptr) {
    work_duration_->Observe(time.count());
  }
}

}  // namespace injector::runtime
