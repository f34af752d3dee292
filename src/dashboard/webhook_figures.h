// What the webhook's own metrics tell: how many admissions per second, and how fast they are.
// Pure; any thread.

#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string_view>

namespace injector::dashboard {

/// Of one replica or of several added up.
struct AdmissionCounts {
  double admissions = 0;
  std::map<double, double> buckets{};  // Admissions that took at most so many seconds.

  void add(const AdmissionCounts& other);
};

/// From /metrics, in Prometheus' text format. What it does not know it skips.
[[nodiscard]] AdmissionCounts read_admission_counts(std::string_view metrics);

struct AdmissionFigures {
  double per_second = 0;
  std::optional<double> p99_seconds{};  // The bound of the bucket; nothing: nobody was admitted.
};

/// Between two readings, `passed` apart. Where nothing happened in between, or a counter began
/// anew, the 99 % are those of the whole of `now`.
[[nodiscard]] AdmissionFigures figures_between(const AdmissionCounts& before,
                                               const AdmissionCounts& now,
                                               std::chrono::duration<double> passed);

}  // namespace injector::dashboard
