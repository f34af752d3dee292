// --manage-certs: keeps the Secret, the webhook configurations' caBundles and the certificate in
// service in step, as tls/managed_certificates.h decides. Every replica runs one; none leads.
//
// A step reads the webhook configurations, then the Secret, then writes the Secret (create, or
// update at the version read), then the caBundles (update at the version read), then serves.
// Whoever loses a race starts over.
//
// There are two configurations of one name. The mutating one must be there, and what its webhooks
// trust decides when a new CA is used. The validating one may be missing, or not be ours to touch:
// it is brought into step where it can be, and stops nothing. In both, every webhook is kept.
//
// The order of the reads matters. Every caBundle was written after the Secret it comes from. So a
// Secret read after a configuration is at least as new as that configuration's caBundle, and a
// write at that configuration's version can never take a newer CA out again, however long this
// replica was asleep in between.
//
// What it needs of the API server: get and update of the Secret and of the configurations, all by
// name, and create of Secrets in the namespace (which RBAC cannot limit to a name).

#pragma once

#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/mutex.h"
#include "base/result.h"
#include "kube/rest_client.h"
#include "runtime/loop_context.h"
#include "tls/managed_certificates.h"
#include "tls/serving_certificate.h"

namespace injector::cluster {

struct KeeperOptions {
  std::string name_space;  // Of the Secret.
  std::string secret;
  std::string webhook_configuration;
  tls::ManagedSettings certificates;
  std::string client_ca;  // PEM, handed on to the server; empty: none.
  base::Duration poll = std::chrono::seconds(5);
  base::Duration settle = std::chrono::minutes(1);  // Until every API server knows a caBundle.
};

/// The pace that fits a lifetime: 5 s and 1 min for all but the shortest.
[[nodiscard]] base::Duration poll_interval(std::chrono::seconds lifetime);
[[nodiscard]] base::Duration settle_time(std::chrono::seconds lifetime);

/// run() and step() belong to one thread; ready() and status() may be called from any.
class CertificateKeeper {
 public:
  using WallClock = std::function<tls::SystemTime()>;

  /// `client` and `certificate` are not owned and outlive this. Whatever `certificate` serves now
  /// is replaced by the first step that gets hold of the Secret.
  CertificateKeeper(KeeperOptions options, kube::RestClient& client,
                    tls::ServingCertificate& certificate, const runtime::LoopContext& loop_context,
                    WallClock now);

  /// A step every poll interval until `stop`. Logs failures, each once as long as it lasts.
  void run(const std::stop_token& stop) INJ_EXCLUDES(mutex_);

  /// Once; lost races are tried again at once, a few times.
  base::Result<void> step(const std::stop_token& stop) INJ_EXCLUDES(mutex_);

  /// An error until the Secret's certificate is served and the caBundle that vouches for it is in
  /// place. From then on well: an API server that is away must not take all replicas out of
  /// service.
  [[nodiscard]] base::Result<void> ready() const INJ_EXCLUDES(mutex_);

  /// How the last step ended.
  [[nodiscard]] base::Result<void> status() const INJ_EXCLUDES(mutex_);

 private:
  struct InService {
    tls::Certificate certificate;
    tls::Certificate issuer;
  };

  [[nodiscard]] base::Result<void> try_step(const std::stop_token& stop);
  [[nodiscard]] base::Result<std::optional<base::Json>> read_secret(const std::stop_token& stop);
  [[nodiscard]] tls::CertificateFacts certificate_facts(
      const std::optional<base::Json>& secret, std::vector<tls::Certificate> trusted) const;
  [[nodiscard]] base::Result<void> store(std::optional<base::Json> secret,
                                         const tls::CertificatePlan& plan,
                                         const std::stop_token& stop);
  [[nodiscard]] base::Result<void> publish(base::Result<base::Json> configuration,
                                           const tls::CertificatePlan& plan,
                                           const std::stop_token& stop);
  [[nodiscard]] base::Result<void> publish_validating(base::Result<base::Json> configuration,
                                                      const tls::CertificatePlan& plan,
                                                      const std::stop_token& stop);
  [[nodiscard]] base::Result<void> write_bundle(const kube::Resource& kind,
                                                base::Json configuration,
                                                const tls::CertificatePlan& plan,
                                                const std::stop_token& stop);
  void note_validating(const base::Error& error);
  [[nodiscard]] base::Result<void> serve(const tls::CertificatePlan& plan);
  [[nodiscard]] bool settled(const tls::Certificate& authority) const;
  void forget_all_but(const std::vector<tls::Certificate>& trusted);
  void report(const base::Result<void>& result) INJ_EXCLUDES(mutex_);

  const KeeperOptions options_;
  kube::RestClient& client_;              // Not owned; outlives this.
  tls::ServingCertificate& certificate_;  // Not owned; outlives this.
  const runtime::LoopContext loop_context_;
  const WallClock now_;

  // The thread's own.
  std::optional<tls::StoredCertificates> remembered_;
  std::map<std::string, base::TimePoint> trusted_since_;  // By fingerprint, as seen from here.
  std::optional<InService> in_service_;
  std::string validating_failure_;  // Logged once as long as it lasts.

  mutable base::Mutex mutex_;
  bool ready_ INJ_GUARDED_BY(mutex_) = false;
  base::Result<void> last_ INJ_GUARDED_BY(mutex_);
};

}  // namespace injector::cluster
