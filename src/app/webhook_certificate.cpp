#include "app/webhook_certificate.h"

#include <chrono>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/file_watch.h"
#include "base/files.h"
#include "tls/certificate.h"

namespace injector::app {
namespace {

constexpr auto kStandaloneLifetime = std::chrono::hours(24 * 365);

// Empty where no client certificate is asked for.
base::Result<std::string> read_client_ca(const WebhookFlags& flags) {
  if (flags.certificate.client_ca.empty()) {
    return std::string();
  }
  auto pem = base::read_regular_file(flags.certificate.client_ca);
  if (pem && pem.value().empty()) {
    return base::invalid("client CA: the file is empty");
  }
  return pem;
}

// Follows --client-ca for certificates that do not come from files themselves.
std::unique_ptr<base::FileWatch> follow_client_ca(const WebhookFlags& flags,
                                                  const std::string& seen,
                                                  tls::ServingCertificate& certificate) {
  if (flags.certificate.client_ca.empty()) {
    return nullptr;
  }
  base::FileSnapshot first;
  first.emplace_back(seen);
  return std::make_unique<base::FileWatch>(
      std::vector{flags.certificate.client_ca}, std::move(first),
      [&certificate](const base::FileSnapshot& files) {
        const auto& file = files.front();
        if (!file || file.value().empty()) {
          certificate.report_failure(file ? base::invalid("client CA: the file is empty")
                                          : file.error());
          return;
        }
        // Both outcomes are logged and counted there.
        static_cast<void>(certificate.replace_client_ca(file.value()));
      });
}

// The caBundle belongs to the webhook that the cluster's Service leads to.
base::Result<void> check_place(const WebhookFlags& flags) {
  if (flags.managed.force || flags.cluster.of_our_pod()) {
    return {};
  }
  return base::invalid(fmt::format(
      "--manage-certs: this process does not run in a Pod of the cluster. It would put a CA of its "
      "own into the webhook configuration \"{}\", which the webhook in the cluster relies on. To "
      "try it here, use --standalone, or --tls-cert and --tls-key; if this is what you want, add "
      "--force-manage-certs",
      flags.managed.webhook_configuration));
}

base::Result<WebhookCertificate> serve_from_memory(const WebhookFlags& flags,
                                                   const base::Logger& log) {
  const tls::Validity validity{std::chrono::system_clock::now(), kStandaloneLifetime};
  INJ_ASSIGN(const auto ca, tls::make_ca("envoy-initializer standalone", validity));
  const auto pair = tls::make_serving_certificate(ca, {"localhost", "127.0.0.1", "::1"}, validity);
  if (!pair) {
    return pair.error();
  }
  if (!flags.ca_out.empty()) {
    INJ_TRY(base::write_file(flags.ca_out, ca.certificate.pem()));
  }
  const auto client_ca = read_client_ca(flags);
  if (!client_ca) {
    return client_ca.error();
  }
  INJ_ASSIGN(auto serving,
             tls::ServingCertificate::create(
                 {pair.value().certificate.pem(), pair.value().key.pem(), client_ca.value()}, log));
  auto watch = follow_client_ca(flags, client_ca.value(), *serving);
  return WebhookCertificate{.memory = std::move(serving), .client_ca = std::move(watch)};
}

base::Result<WebhookCertificate> serve_from_files(const WebhookFlags& flags,
                                                  const base::Logger& log) {
  auto files = tls::CertificateFiles::open(flags.certificate, log);
  if (!files) {
    return std::move(files).error();
  }
  return WebhookCertificate{.files = std::move(files).value()};
}

base::Result<WebhookCertificate> serve_from_secret(const WebhookFlags& flags,
                                                   prometheus::Registry& registry,
                                                   const runtime::LoopContext& loop_context) {
  INJ_TRY(check_place(flags));
  INJ_ASSIGN(auto client, flags.cluster.connect(&registry));
  const auto client_ca = read_client_ca(flags);
  if (!client_ca) {
    return client_ca.error();
  }
  auto managed =
      ManagedServing::open(flags.managed, std::move(client), client_ca.value(), loop_context);
  if (!managed) {
    return std::move(managed).error();
  }
  managed.value()->start();
  auto watch = follow_client_ca(flags, client_ca.value(), managed.value()->certificate());
  return WebhookCertificate{.managed = std::move(managed).value(), .client_ca = std::move(watch)};
}

}  // namespace

base::Result<WebhookCertificate> open_certificate(const WebhookFlags& flags,
                                                  prometheus::Registry& registry,
                                                  const runtime::LoopContext& loop_context) {
  if (flags.managed.enabled) {
    return serve_from_secret(flags, registry, loop_context);
  }
  if (!flags.certificate.certificate.empty()) {
    return serve_from_files(flags, loop_context.log);
  }
  if (flags.standalone) {
    return serve_from_memory(flags, loop_context.log);
  }
  return base::invalid(
      "no certificate: give --tls-cert and --tls-key, --manage-certs, or --standalone");
}

}  // namespace injector::app
