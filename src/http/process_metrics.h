// Metrics that are read when asked for: of this process, its health, and the serving certificate.

#pragma once

#include <string>
#include <utility>
#include <vector>

#include <prometheus/collectable.h>

#include "http/admin.h"
#include "http/server.h"
#include "tls/serving_certificate.h"

namespace injector::http {

/// process_resident_memory_bytes, process_open_fds, process_start_time_seconds and
/// process_cpu_seconds_total. Thread-safe. Where /proc cannot be read, the metric is left out.
class ProcessMetrics final : public prometheus::Collectable {
 public:
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;
};

/// What runs: `webhook` or `controller`, of which version.
struct Build {
  std::string command;
  std::string version;
};

/// envoy_initializer_build_info{command,version} and envoy_initializer_ready{command}, which is 1
/// while /readyz says so. Thread-safe.
class HealthMetrics final : public prometheus::Collectable {
 public:
  HealthMetrics(Build build, const Health& health)
      : build_(std::move(build)),
        health_(health) {}

  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const Build build_;
  const Health& health_;  // Not owned; outlives the metrics.
};

/// envoy_initializer_certificate_expiry_timestamp_seconds and
/// envoy_initializer_certificate_loads_total{result}. Thread-safe.
class CertificateMetrics final : public prometheus::Collectable {
 public:
  explicit CertificateMetrics(const tls::ServingCertificate& certificate)
      : certificate_(certificate) {}

  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const tls::ServingCertificate& certificate_;  // Not owned; outlives the metrics.
};

/// envoy_initializer_connections and envoy_initializer_tls_handshake_failures_total. Thread-safe.
class ServerMetrics final : public prometheus::Collectable {
 public:
  explicit ServerMetrics(const Server& server)
      : server_(server) {}

  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const Server& server_;  // Not owned; outlives the metrics.
};

}  // namespace injector::http
