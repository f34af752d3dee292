// One HTTP request with our credentials on a kept or new connection.
//
// May be called from any thread.

#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kube/config.h"
#include "kube/connection.h"
#include "kube/connection_pool.h"
#include "kube/credentials.h"
#include "kube/endpoint.h"
#include "kube/http_response.h"
#include "kube/tls_context.h"
#include "kube/until.h"

namespace prometheus {
class Registry;
}

namespace injector::kube {

struct HttpRequest {
  std::string method;
  std::string target;  // Path and query, escaped; the server's own prefix comes in front.
  std::string content_type;
  std::string body;
};

/// An answer whose head is there. Used by one thread; may outlive its transport. Gives its
/// connection back when the body has been read to the end.
class Exchange {
 public:
  Exchange(std::unique_ptr<Connection> connection, std::shared_ptr<ConnectionPool> pool);

  [[nodiscard]] base::Result<void> read_head(const Until& until);
  /// The next bytes of the body; 0: it is complete.
  [[nodiscard]] base::Result<std::size_t> read(std::span<char> into, const Until& until);

  [[nodiscard]] const ResponseHead& head() const noexcept { return head_; }

 private:
  std::unique_ptr<Connection> connection_;  // Null once given back.
  std::shared_ptr<ConnectionPool> pool_;
  ResponseReader reader_;
  ResponseHead head_;
};

struct TransportOptions {
  std::string user_agent;
  base::Duration broken_retry;
  prometheus::Registry* metrics = nullptr;  // Not owned; outlives the transport. May be null.
};

class Transport {
 public:
  Transport(Endpoint endpoint, const ClientConfig& config, TransportOptions options);
  ~Transport();
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  /// Fails where the TLS settings cannot be used.
  [[nodiscard]] base::Result<void> check();

  /// Sends and reads the head of the answer. A 401 is tried again with fresh credentials, once; a
  /// connection that breaks before the head has arrived is, for GET, at most 10 times.
  [[nodiscard]] base::Result<std::unique_ptr<Exchange>> open(const HttpRequest& request,
                                                             const Until& until);

 private:
  class Counter;
  struct Attempt;
  enum class Reuse { Allowed, No };

  [[nodiscard]] Attempt attempt(const HttpRequest& request, const Credential& credential,
                                Reuse reuse, const Until& until);
  [[nodiscard]] base::Result<std::unique_ptr<Exchange>> open_patiently(const HttpRequest& request,
                                                                       const Credential& credential,
                                                                       const Until& until);
  [[nodiscard]] base::Result<Credential> credential(const Until& until);
  [[nodiscard]] base::Result<std::string> head_of(const HttpRequest& request,
                                                  const Credential& credential) const;

  const Endpoint endpoint_;
  const TransportOptions options_;
  TlsContexts contexts_;
  std::unique_ptr<CredentialSource> credentials_;
  std::shared_ptr<ConnectionPool> pool_;
  std::unique_ptr<Counter> counter_;
};

}  // namespace injector::kube
