// Certificates and private keys as values: made, read, written, inspected.
//
// A Certificate and a PrivateKey are cheap to copy and never change; any thread may use them.
// Time is an argument everywhere: nothing here looks at the clock.

#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tls/handles.h"

namespace injector::tls {

using SystemTime = std::chrono::system_clock::time_point;

class Certificate {
 public:
  /// The first certificate of a PEM text.
  [[nodiscard]] static base::Result<Certificate> parse(std::string_view pem);

  explicit Certificate(X509Ptr handle);

  [[nodiscard]] std::string pem() const;

  [[nodiscard]] SystemTime not_before() const;
  [[nodiscard]] SystemTime not_after() const;

  /// The subject's common name; empty where it has none.
  [[nodiscard]] std::string common_name() const;

  /// The subject alternative names: DNS names and IP addresses as text, in the certificate's order.
  [[nodiscard]] std::vector<std::string> names() const;

  [[nodiscard]] bool is_ca() const;

  /// SHA-256 of the whole certificate, 64 lower-case hex digits.
  [[nodiscard]] std::string fingerprint() const;

  /// True if `issuer`'s key signed this certificate and the names match. Validity in time is not
  /// looked at.
  [[nodiscard]] bool issued_by(const Certificate& issuer) const;

  /// Never null; owned by the certificate.
  [[nodiscard]] X509* handle() const noexcept { return handle_.get(); }

 private:
  std::shared_ptr<X509> handle_;
};

class PrivateKey {
 public:
  /// A new ECDSA key on P-256.
  [[nodiscard]] static base::Result<PrivateKey> generate();

  /// PKCS#8, SEC1 or PKCS#1 PEM. An encrypted key is an error: nobody is there to ask.
  [[nodiscard]] static base::Result<PrivateKey> parse(std::string_view pem);

  explicit PrivateKey(KeyPtr handle);

  /// PKCS#8, unencrypted.
  [[nodiscard]] std::string pem() const;

  [[nodiscard]] bool belongs_to(const Certificate& certificate) const;

  [[nodiscard]] EVP_PKEY* handle() const noexcept { return handle_.get(); }

 private:
  std::shared_ptr<EVP_PKEY> handle_;
};

struct KeyPair {
  Certificate certificate;
  PrivateKey key;
};

/// From when a new certificate holds, and how long. It starts this much before `from`, so that
/// verifiers and replicas whose clocks are behind accept it at once.
inline constexpr std::chrono::minutes kClockSkew{60};

struct Validity {
  SystemTime from;
  std::chrono::seconds lifetime;
};

/// A self-signed CA that may sign serving certificates and nothing below them (path length 0).
[[nodiscard]] base::Result<KeyPair> make_ca(const std::string& common_name, Validity validity);

/// A serving certificate signed by `ca`. `names` are DNS names (a leading "*." is allowed) or IP
/// addresses; at least one. The first of at most 64 characters is the common name as well.
/// It never outlives its CA: where `validity` reaches further, it is cut.
[[nodiscard]] base::Result<KeyPair> make_serving_certificate(const KeyPair& ca,
                                                             const std::vector<std::string>& names,
                                                             Validity validity);

/// The same for a client, known by its common name.
[[nodiscard]] base::Result<KeyPair> make_client_certificate(const KeyPair& ca,
                                                            const std::string& common_name,
                                                            Validity validity);

/// Every certificate of a PEM text, in order; text around the blocks is skipped. An empty bundle is
/// an error.
[[nodiscard]] base::Result<std::vector<Certificate>> parse_bundle(std::string_view pem);

[[nodiscard]] std::string bundle_pem(const std::vector<Certificate>& certificates);

/// `first`, then what `second` adds to it; without repetitions and without what expired before
/// `now`.
[[nodiscard]] std::vector<Certificate> merge_bundles(const std::vector<Certificate>& first,
                                                     const std::vector<Certificate>& second,
                                                     SystemTime now);

}  // namespace injector::tls
