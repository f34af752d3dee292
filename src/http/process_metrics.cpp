#include "http/process_metrics.h"

#include <chrono>
#include <cstdint>
#include <dirent.h>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <unistd.h>
#include <utility>

#include <prometheus/metric_family.h>

#include "base/log_writer.h"

namespace injector::http {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

/// What /proc tells about a process, of the many numbers in its `stat`.
struct ProcessTimes {
  double cpu_seconds = 0;
  double started_after_boot_seconds = 0;
};

ClientMetric sample(MetricType type, double value) {
  ClientMetric metric;
  (type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
  return metric;
}

MetricFamily family(std::string name, std::string help, MetricType type, double value) {
  return MetricFamily{std::move(name), std::move(help), type, {sample(type, value)}};
}

std::optional<double> resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t total_pages = 0;
  std::uint64_t resident_pages = 0;
  if (!(file >> total_pages >> resident_pages)) {
    return std::nullopt;
  }
  return static_cast<double>(resident_pages) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

std::optional<double> open_files() {
  struct CloseFolder {
    void operator()(DIR* folder) const noexcept { ::closedir(folder); }
  };

  const std::unique_ptr<DIR, CloseFolder> folder(::opendir("/proc/self/fd"));
  if (!folder) {
    return std::nullopt;
  }
  double count = 0;
  // Each thread reads a folder of its own.
  while (const dirent* entry = ::readdir(folder.get())) {  // NOLINT(concurrency-mt-unsafe)
    count += entry->d_name[0] == '.' ? 0 : 1;
  }
  return count - 1;  // The folder itself.
}

std::optional<ProcessTimes> process_times() {
  std::ifstream file("/proc/self/stat");
  std::string line;
  std::getline(file, line);
  // The second field, the program's name in brackets, may contain anything.
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) {
    return std::nullopt;
  }
  constexpr int kSkipped = 11;  // From the third field to utime, the fourteenth.
  std::istringstream fields(line.substr(name_end + 1));
  std::string skipped;
  for (int i = 0; i < kSkipped; ++i) {
    fields >> skipped;
  }
  double user = 0;
  double system = 0;
  fields >> user >> system;
  for (int i = 0; i < 6; ++i) {
    fields >> skipped;
  }
  double start = 0;
  if (!(fields >> start)) {
    return std::nullopt;
  }
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  return ProcessTimes{(user + system) / ticks, start / ticks};
}

std::optional<double> boot_time_seconds() {
  std::ifstream file("/proc/stat");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("btime ")) {
      return std::stod(line.substr(6));
    }
  }
  return std::nullopt;
}

double seconds_since_epoch(tls::SystemTime time) {
  return static_cast<double>(std::chrono::system_clock::to_time_t(time));
}

ClientMetric load_count(const std::string& result, std::uint64_t count) {
  ClientMetric metric = sample(MetricType::Counter, static_cast<double>(count));
  metric.label.push_back({"result", result});
  return metric;
}

}  // namespace

std::vector<MetricFamily> ProcessMetrics::Collect() const {
  std::vector<MetricFamily> families;
  if (const auto bytes = resident_bytes()) {
    families.push_back(family("process_resident_memory_bytes", "Resident memory size in bytes.",
                              MetricType::Gauge, *bytes));
  }
  if (const auto count = open_files()) {
    families.push_back(
        family("process_open_fds", "Number of open file descriptors.", MetricType::Gauge, *count));
  }
  const auto times = process_times();
  if (times) {
    families.push_back(family("process_cpu_seconds_total", "User and system CPU time in seconds.",
                              MetricType::Counter, times->cpu_seconds));
  }
  if (const auto boot = boot_time_seconds(); boot && times) {
    families.push_back(family("process_start_time_seconds",
                              "Start time of the process since the Unix epoch in seconds.",
                              MetricType::Gauge, *boot + times->started_after_boot_seconds));
  }
  families.push_back(family("envoy_initializer_log_lines_dropped_total",
                            "Log lines that standard error was too slow for.", MetricType::Counter,
                            static_cast<double>(base::dropped_log_lines())));
  return families;
}

std::vector<MetricFamily> HealthMetrics::Collect() const {
  MetricFamily info = family("envoy_initializer_build_info",
                             "Always 1; the labels are the command that runs and its version.",
                             MetricType::Gauge, 1);
  info.metric.front().label = {{"command", build_.command}, {"version", build_.version}};
  MetricFamily ready = family("envoy_initializer_ready", "1 while /readyz says ok, 0 otherwise.",
                              MetricType::Gauge, health_.readiness(false).status == 200 ? 1 : 0);
  ready.metric.front().label = {{"command", build_.command}};
  return {info, ready};
}

std::vector<MetricFamily> CertificateMetrics::Collect() const {
  const auto counts = certificate_.counts();
  const auto expiry = seconds_since_epoch(certificate_.context()->certificate().not_after());
  return {
      family("envoy_initializer_certificate_expiry_timestamp_seconds",
             "When the serving certificate expires, since the Unix epoch in seconds.",
             MetricType::Gauge, expiry),
      MetricFamily{"envoy_initializer_certificate_loads_total",
                   "Attempts to load the serving certificate.",
                   MetricType::Counter,
                   {load_count("success", counts.loaded), load_count("failure", counts.failed)}}};
}

std::vector<MetricFamily> ServerMetrics::Collect() const {
  const ServerStats stats = server_.stats();
  return {family("envoy_initializer_connections", "Open connections to the webhook.",
                 MetricType::Gauge, static_cast<double>(stats.connections)),
          family("envoy_initializer_tls_handshake_failures_total",
                 "Connections that did not get through the TLS handshake.", MetricType::Counter,
                 static_cast<double>(stats.handshake_failures))};
}

}  // namespace injector::http
