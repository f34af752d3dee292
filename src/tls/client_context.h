// What TLS handshakes of a client need: whom it trusts, and the certificate that it shows.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "tls/handles.h"

namespace injector::tls {

/// A PEM text given in place, or the path of a file that may change while we run. Data wins.
struct PemSource {
  std::string data;
  std::string file;

  [[nodiscard]] bool empty() const noexcept { return data.empty() && file.empty(); }
};

struct ClientSettings {
  PemSource authority;  // Empty: the system's roots.
  PemSource certificate;
  PemSource key;
  std::string server_name;  // Replaces the host for SNI and verification.
  bool skip_verify = false;
};

/// A certificate and its key as PEM texts, in place of the configured ones.
struct ClientIdentity {
  std::string certificate;
  std::string key;

  bool operator==(const ClientIdentity&) const = default;
};

/// Immutable; any thread may start connections with it.
class ClientContext {
 public:
  [[nodiscard]] static base::Result<std::shared_ptr<const ClientContext>> create(
      const ClientSettings& settings);

  explicit ClientContext(SslContextPtr context) noexcept;

  /// A client-side TLS session on `fd`, which it does not own. The server's certificate must be for
  /// `name`, a host name or an address. Null if there is no memory.
  [[nodiscard]] SslPtr start(int fd, const std::string& name) const;

  [[nodiscard]] SSL_CTX* handle() const noexcept { return context_.get(); }

 private:
  SslContextPtr context_;
};

using ClientContextPtr = std::shared_ptr<const ClientContext>;

/// The context of now: looks at the files before each request. A change makes a new context, a
/// change that cannot be used keeps the old one. May be called from any thread.
class ClientContexts {
 public:
  explicit ClientContexts(ClientSettings settings);

  /// The same pointer as before unless something changed.
  [[nodiscard]] base::Result<ClientContextPtr> get(const ClientIdentity& identity);

  /// The name to verify for a server reached as `host`.
  [[nodiscard]] const std::string& name_for(const std::string& host) const;

 private:
  const ClientSettings settings_;
  base::Mutex mutex_;
  ClientContextPtr context_ INJ_GUARDED_BY(mutex_);
  std::vector<std::string> stamps_ INJ_GUARDED_BY(mutex_);  // Of the files behind context_.
  ClientIdentity identity_ INJ_GUARDED_BY(mutex_);
};

}  // namespace injector::tls
