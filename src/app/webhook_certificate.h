// Where the webhook gets its certificate from, and how it gets a new one.

#pragma once

#include <memory>

#include <prometheus/registry.h>

#include "app/managed_serving.h"
#include "app/webhook_flags.h"
#include "base/file_watch.h"
#include "base/result.h"
#include "runtime/loop_context.h"
#include "tls/serving_certificate.h"

namespace injector::app {

/// The certificate in service: from files, from a Secret or from memory.
struct WebhookCertificate {
  std::unique_ptr<tls::CertificateFiles> files{};
  std::unique_ptr<ManagedServing> managed{};
  std::unique_ptr<tls::ServingCertificate> memory{};
  std::unique_ptr<base::FileWatch> client_ca{};  // Last: it uses the others. `files` has its own.

  [[nodiscard]] tls::ServingCertificate& get() const {
    if (managed) {
      return managed->certificate();
    }
    return files ? files->certificate() : *memory;
  }
};

/// Does not wait for the cluster: until --manage-certs has its certificate, /readyz says so.
/// `registry` counts the requests to the cluster.
[[nodiscard]] base::Result<WebhookCertificate> open_certificate(
    const WebhookFlags& flags, prometheus::Registry& registry,
    const runtime::LoopContext& loop_context);

}  // namespace injector::app
