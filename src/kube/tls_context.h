// Client-side TLS: whom we trust and the certificate we show, from PEM texts or files. Files are
// looked at before each request; a change makes a new context, a change that cannot be used keeps
// the old one.
//
// May be called from any thread.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include <openssl/ssl.h>

#include "base/mutex.h"
#include "base/result.h"
#include "kube/config.h"

namespace injector::kube {

using SslContext = std::shared_ptr<SSL_CTX>;

/// A client certificate that came with the credentials; replaces the configured one.
struct ClientIdentity {
  std::string certificate;
  std::string key;

  bool operator==(const ClientIdentity&) const = default;
};

class TlsContexts {
 public:
  explicit TlsContexts(TlsSettings settings);

  /// The context of now. The same pointer as before unless something changed.
  [[nodiscard]] base::Result<SslContext> get(const ClientIdentity& identity);

  /// The name to verify and to send as SNI, for a server reached as `host`.
  [[nodiscard]] const std::string& name_for(const std::string& host) const;

 private:
  const TlsSettings settings_;
  base::Mutex mutex_;
  SslContext context_ INJ_GUARDED_BY(mutex_);
  std::vector<std::string> stamps_ INJ_GUARDED_BY(mutex_);  // Of the files behind context_.
  ClientIdentity identity_ INJ_GUARDED_BY(mutex_);
};

/// The first error OpenSSL has recorded for this thread, and clears them all.
[[nodiscard]] std::string openssl_error();

}  // namespace injector::kube
