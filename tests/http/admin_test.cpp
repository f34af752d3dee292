#include "http/admin.h"

#include <memory>
#include <string>

#include <catch2/catch.hpp>
#include <prometheus/counter.h>
#include <prometheus/registry.h>

#include "http/process_metrics.h"
#include "tests/support/test_server.h"

namespace injector::tests {
namespace {

using http::Health;

base::Result<void> not_loaded() {
  return base::Error{base::ErrorCode::Unavailable, "no template yet"};
}

/// The admin pages over plain HTTP.
class AdminServer {
 public:
  explicit AdminServer(http::Collectables metrics = {})
      : server({.name = "admin", .listen = "127.0.0.1:0"},
               http::admin_routes(health, std::move(metrics), R"({"version":"1.2.3"})"), nullptr,
               base::Logger::silent()) {
    REQUIRE(server.start());
  }

  HttpAnswer get(const std::string& path) {
    TlsClient client(server.port(), {.tls = false});
    return client.ask("GET " + path + " HTTP/1.1\r\nHost: admin\r\n\r\n").value();
  }

  Health health;
  http::Server server;
};

TEST_CASE("health: ready while every check passes", "[webhook]") {
  Health health;
  health.add_readiness_check("template", [] { return base::Result<void>(); });
  CHECK(health.readiness(false).status == 200);
  CHECK(health.readiness(false).body == "ok");
  health.add_readiness_check("certificate", not_loaded);
  CHECK(health.readiness(false).status == 503);
}

TEST_CASE("health: verbose lists each check with its reason", "[webhook]") {
  Health health;
  health.add_readiness_check("template", not_loaded);
  health.add_readiness_check("informer", [] { return base::Result<void>(); });
  CHECK(health.readiness(true).body ==
        "[+]ping ok\n[-]template failed: no template yet\n[+]informer ok\n[+]shutdown ok\n"
        "readyz check failed\n");
}

TEST_CASE("health: draining ends readiness and not liveness", "[webhook]") {
  Health health;
  health.set_draining();
  CHECK(health.readiness(false).status == 503);
  CHECK(health.liveness(false).status == 200);
}

TEST_CASE("health: a failing liveness check is for livez alone", "[webhook]") {
  Health health;
  health.add_liveness_check("loop", not_loaded);
  CHECK(health.liveness(false).status == 503);
  CHECK(health.readiness(false).status == 200);
}

TEST_CASE("health: a check that throws has failed", "[webhook]") {
  Health health;
  health.add_readiness_check("odd",
                             []() -> base::Result<void> { throw std::runtime_error("boom"); });
  CHECK(health.readiness(true).body.find("[-]odd failed: boom") != std::string::npos);
}

TEST_CASE("admin: the probes answer over plain HTTP", "[webhook]") {
  AdminServer admin;
  for (const char* path : {"/healthz", "/livez", "/readyz"}) {
    CHECK(admin.get(path).status == 200);
    CHECK(admin.get(path).body == "ok");
  }
  CHECK(admin.get("/readyz?verbose").body.find("[+]shutdown ok") != std::string::npos);
  CHECK(admin.get("/readyz?verbose=true").body.find("readyz check passed") != std::string::npos);
  admin.health.set_draining();
  CHECK(admin.get("/readyz").status == 503);
  CHECK(admin.get("/healthz").status == 200);
}

TEST_CASE("admin: version is JSON and anything else is not there", "[webhook]") {
  AdminServer admin;
  CHECK(admin.get("/version").body == R"({"version":"1.2.3"})");
  CHECK(admin.get("/version").header("content-type") == "application/json");
  CHECK(admin.get("/mutate").status == 404);
  TlsClient client(admin.server.port(), {.tls = false});
  const auto answer = client.ask("POST /metrics HTTP/1.1\r\nContent-Length: 0\r\n\r\n");
  REQUIRE(answer);
  CHECK(answer->status == 405);
  CHECK(answer->header("allow") == "GET, HEAD");
}

TEST_CASE("admin: a kept connection serves HEAD and GET", "[webhook]") {
  AdminServer admin;
  TlsClient client(admin.server.port(), {.tls = false});
  REQUIRE(client.send("HEAD /healthz HTTP/1.1\r\n\r\n"));
  const auto head = client.receive(true);
  REQUIRE(head);
  CHECK(head->status == 200);
  CHECK(head->header("content-length") == "2");
  CHECK(client.ask("GET /healthz HTTP/1.1\r\n\r\n").value().body == "ok");
}

TEST_CASE("admin: metrics show every source as Prometheus text", "[webhook]") {
  auto registry = std::make_shared<prometheus::Registry>();
  prometheus::BuildCounter()
      .Name("test_total")
      .Help("A test.")
      .Register(*registry)
      .Add({})
      .Increment();
  AdminServer admin({registry, std::make_shared<http::ProcessMetrics>()});
  const HttpAnswer page = admin.get("/metrics");
  CHECK(page.header("content-type") == "text/plain; version=0.0.4; charset=utf-8");
  CHECK(page.body.find("\ntest_total 1") != std::string::npos);
  for (const char* name : {"process_resident_memory_bytes", "process_open_fds",
                           "process_start_time_seconds", "process_cpu_seconds_total"}) {
    CAPTURE(name);
    CHECK(page.body.find(std::string("\n") + name + " ") != std::string::npos);
  }
}

double value_of(const std::vector<prometheus::MetricFamily>& families, const std::string& name) {
  for (const auto& family : families) {
    if (family.name == name) {
      return family.type == prometheus::MetricType::Gauge ? family.metric.at(0).gauge.value
                                                          : family.metric.at(0).counter.value;
    }
  }
  FAIL("no metric " << name);
  return 0;
}

TEST_CASE("process metrics: the numbers are those of this process", "[webhook]") {
  const http::ProcessMetrics metrics;
  const auto before = metrics.Collect();
  CHECK(value_of(before, "process_resident_memory_bytes") > 1e6);
  const auto started = value_of(before, "process_start_time_seconds");
  const auto now = static_cast<double>(std::time(nullptr));
  CHECK(started <= now + 2);
  CHECK(started > now - 3600 * 24);
  const base::FileDescriptor another(::socket(AF_INET, SOCK_STREAM, 0));
  CHECK(value_of(metrics.Collect(), "process_open_fds") ==
        value_of(before, "process_open_fds") + 1);
}

TEST_CASE("health metrics: ready follows /readyz, and the build says what runs", "[webhook]") {
  http::Health health;
  bool good = false;
  health.add_readiness_check("test", [&]() -> base::Result<void> {
    return good ? base::Result<void>() : base::Error{base::ErrorCode::Unavailable, "not yet"};
  });
  const http::HealthMetrics metrics({.command = "webhook", .version = "1.2.3"}, health);
  CHECK(value_of(metrics.Collect(), "envoy_initializer_ready") == 0);
  good = true;
  CHECK(value_of(metrics.Collect(), "envoy_initializer_ready") == 1);
  CHECK(metrics.Collect().at(0).metric.at(0).label.at(1).value == "1.2.3");
  health.set_draining();
  CHECK(value_of(metrics.Collect(), "envoy_initializer_ready") == 0);
}

TEST_CASE("certificate metrics: expiry and loads are those of the certificate", "[webhook]") {
  const tls::KeyPair ca = test_ca();
  const tls::KeyPair pair = test_serving(ca);
  const auto certificate =
      tls::ServingCertificate::create(to_pem(pair), base::Logger::silent()).value();
  REQUIRE_FALSE(certificate->replace({"", "", ""}));
  const auto families = http::CertificateMetrics(*certificate).Collect();
  const auto expiry = std::chrono::system_clock::to_time_t(pair.certificate.not_after());
  CHECK(value_of(families, "envoy_initializer_certificate_expiry_timestamp_seconds") ==
        static_cast<double>(expiry));
  REQUIRE(families.at(1).metric.size() == 2);
  CHECK(families.at(1).metric.at(0).counter.value == 1);
  CHECK(families.at(1).metric.at(1).counter.value == 1);
}

}  // namespace
}  // namespace injector::tests
