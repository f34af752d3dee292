// The numbers of one work queue under client-go's names, label name=<queue>: workqueue_depth,
// workqueue_adds_total, workqueue_retries_total, workqueue_queue_duration_seconds and
// workqueue_work_duration_seconds. A cheap handle; any thread.

#pragma once

#include <chrono>
#include <string>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

namespace injector::runtime {

class QueueMetrics {
 public:
  using Seconds = std::chrono::duration<double>;

  /// Counts nothing.
  QueueMetrics() = default;

  /// `registry` outlives every copy of this.
  QueueMetrics(prometheus::Registry& registry, const std::string& queue);

  /// A key is to be worked on that was not before.
  void added() const;
  /// A key entered or left the line of those ready.
  void lined_up() const;
  void left_line() const;
  void retried() const;
  void waited(Seconds time) const;
  void worked(Seconds time) const;

 private:
  // All null, or none.
  prometheus::Gauge* depth_ = nullptr;
  prometheus::Counter* adds_ = nullptr;
  prometheus::Counter* retries_ = nullptr;
  prometheus::Histogram* queue_duration_ = nullptr;
  prometheus::Histogram* work_duration_ = nullptr;
};

}  // namespace injector::runtime
