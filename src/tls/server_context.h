// What one TLS handshake of the server needs: certificate, key, client CA, protocol settings.
//
// TLS 1.2 and up, ALPN http/1.1 and nothing else, no renegotiation, no session resumption (so that
// a replaced certificate or client CA counts from the next connection on).

#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "tls/certificate.h"
#include "tls/handles.h"

namespace injector::tls {

struct ServerPem {
  std::string certificate;  // The serving certificate first, then its intermediates.
  std::string key;
  std::string client_ca;  // Empty: clients need no certificate. Else each must show one of these.
};

/// Immutable; any thread may start connections with it.
class ServerContext {
 public:
  /// Checks that key and certificate belong together before anything uses them.
  [[nodiscard]] static base::Result<std::shared_ptr<const ServerContext>> create(
      const ServerPem& pem);

  ServerContext(SslContextPtr context, Certificate certificate);

  [[nodiscard]] const Certificate& certificate() const noexcept { return certificate_; }

  /// A server-side TLS session on `fd`, which it does not own. It keeps what it needs of this
  /// context, and may outlive it. Null if there is no memory.
  [[nodiscard]] SslPtr start(int fd) const;

 private:
  SslContextPtr context_;
  Certificate certificate_;
};

}  // namespace injector::tls
