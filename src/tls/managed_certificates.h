// What --manage-certs does to its Secret, decided from data alone: no network, no clock.
//
// The Secret holds
//
//   ca.crt    every CA that is to be trusted, the newest first; this text is the caBundle
//   ca.key    the newest one's key
//   tls.crt   what the replicas serve, signed by one of ca.crt
//   tls.key   its key
//
// A CA is renewed at two thirds of its life, in two writes with the API servers in between:
//
//   ca.crt = old         tls.crt by old
//   ca.crt = new, old    tls.crt by old    at two thirds; published, and given time to arrive
//   ca.crt = new, old    tls.crt by new    replicas take it up one by one: both are trusted
//   ca.crt = new         tls.crt by new    once the old CA has expired
//
// A serving certificate never outlives its CA. So an expired CA is the one that no replica, however
// late, can need any more, and nobody has to know how many replicas there are.
//
// All functions are pure (but for the randomness of new keys) and may be called from any thread.

#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "tls/certificate.h"

namespace injector::tls {

/// More CAs than this are never trusted at once; the oldest go first.
inline constexpr std::size_t kMaxAuthorities = 8;

/// The Secret's content as PEM. What it does not have is empty.
struct StoredCertificates {
  std::string ca_crt;
  std::string ca_key;
  std::string tls_crt;
  std::string tls_key;

  bool operator==(const StoredCertificates&) const = default;
};

struct ManagedSettings {
  std::vector<std::string> names;  // Of the serving certificate: DNS names and IP addresses.
  std::chrono::seconds lifetime{};
};

/// What a replica knows at one moment.
struct CertificateFacts {
  SystemTime now;
  std::optional<StoredCertificates> stored{};      // The Secret; nothing: there is none.
  std::optional<StoredCertificates> remembered{};  // What it held when all was well.
  std::vector<Certificate> trusted{};              // By the webhook configuration, at this moment.
  std::vector<Certificate> settled{};              // Trusted so long that every API server knows.
  std::vector<Certificate> in_service{};  // The CA of what this replica serves, if it serves.
};

struct CertificatePlan {
  StoredCertificates content;  // What the Secret is to hold.
  std::vector<Certificate> authorities;
  Certificate serving;
  Certificate issuer;                // The one of `authorities` that signed `serving`.
  std::vector<std::string> changes;  // Why `content` is not what is stored. Empty: it is.
};

/// The names by which a Service is called: "web.prod.svc" first, which is what an API server asks
/// for.
[[nodiscard]] std::vector<std::string> service_names(const std::string& service,
                                                     const std::string& name_space);

/// When the successor of `ca` is due: at two thirds of its life.
[[nodiscard]] SystemTime renewal_time(const Certificate& ca);

/// The next state of the Secret.
///
/// - Fresh content is complete at once: there is nobody yet whom it could confuse. It keeps the CAs
///   that are trusted already, for replicas that may still serve under them.
/// - Content that was lost or is broken (no PEM, key and certificate that do not belong together, a
///   serving certificate by a stranger) is replaced by what was remembered, else made anew as far
///   as it is broken.
/// - A name that the serving certificate lacks is added, and those it has are kept: replicas with
///   different flags, as during a rolling update, come to rest.
///
/// Fails only if names or lifetime cannot make a certificate.
[[nodiscard]] base::Result<CertificatePlan> plan_certificates(
    const ManagedSettings& settings, const CertificateFacts& certificate_facts);

}  // namespace injector::tls
