#include "dashboard/webhook_figures.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace injector::dashboard {
namespace {

constexpr std::string_view kRequests = "envoy_initializer_admission_requests_total";
constexpr std::string_view kBucket = "envoy_initializer_admission_duration_seconds_bucket";

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

// `le="0.5"` in the labels of a line; "+Inf" is a number to from_chars only without its sign.
std::optional<double> bound_of(std::string_view line) {
  constexpr std::string_view kLabel = "le=\"";
  const std::size_t at = line.find(kLabel);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  std::string_view text = line.substr(at + kLabel.size());
  text = text.substr(0, text.find('"'));
  return number(text.starts_with('+') ? text.substr(1) : text);
}

void read_line(std::string_view line, AdmissionCounts& counts) {
  const std::size_t space = line.rfind(' ');
  const auto value =
      space == std::string_view::npos ? std::nullopt : number(line.substr(space + 1));
  if (!value) {
    return;
  }
  if (line.starts_with(kRequests)) {
    counts.admissions += *value;
  } else if (line.starts_with(kBucket)) {
    if (const auto bound = bound_of(line)) {
      counts.buckets[*bound] += *value;
    }
  }
}

// The smallest bound below which 99 of 100 are.
std::optional<double> p99_of(const std::map<double, double>& buckets) {
  if (buckets.empty() || buckets.rbegin()->second <= 0) {
    return std::nullopt;
  }
  const double wanted = 0.99 * buckets.rbegin()->second;
  const auto found = std::find_if(buckets.begin(), buckets.end(),
                                  [wanted](const auto& one) { return one.second >= wanted; });
  // Beyond the last bound nothing is known but that bound.
  const bool beyond = std::next(found) == buckets.end() && found != buckets.begin();
  return beyond ? std::prev(found)->first : found->first;
}

std::map<double, double> difference(const std::map<double, double>& before,
                                    const std::map<double, double>& now) {
  std::map<double, double> result;
  for (const auto& [bound, count] : now) {
    const auto found = before.find(bound);
    result[bound] = count - (found == before.end() ? 0 : found->second);
  }
  return result;
}

}  // namespace

void AdmissionCounts::add(const AdmissionCounts& other) {
  admissions += other.admissions;
  for (const auto& [bound, count] : other.buckets) {
    buckets[bound] += count;
  }
}

AdmissionCounts read_admission_counts(std::string_view metrics) {
  AdmissionCounts counts;
  while (!metrics.empty()) {
    const std::size_t end = std::min(metrics.find('\n'), metrics.size());
    read_line(metrics.substr(0, end), counts);
    metrics.remove_prefix(std::min(end + 1, metrics.size()));
  }
  return counts;
}

AdmissionFigures figures_between(const AdmissionCounts& before, const AdmissionCounts& now,
                                 std::chrono::duration<double> passed) {
  const double since = now.admissions - before.admissions;
  AdmissionFigures figures;
  if (since <= 0 || passed.count() <= 0) {
    figures.p99_seconds = p99_of(now.buckets);
    return figures;
  }
  figures.per_second = since / passed.count();
  figures.p99_seconds = p99_of(difference(before.buckets, now.buckets));
  return figures;
}

}  // namespace injector::dashboard
