// An HTTP/1.1 client for one server. A request is sent once: whether to send it again is the
// caller's decision, and an Attempt says what that takes.
//
// May be called from any thread, by many at once: idle connections are kept and shared.

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/until.h"
#include "http/client_connection.h"
#include "http/proxy.h"
#include "http/resolver.h"
#include "http/response_parser.h"
#include "http/url.h"
#include "tls/client_context.h"

namespace injector::http {

class IdleConnections;

struct ClientRequest {
  std::string method;
  std::string target;  // Path and query, escaped; the server's own prefix comes in front.
  std::vector<std::pair<std::string, std::string>> headers;  // Host and Content-Length are added.
  std::string body;
};

/// A response whose head is there. Used by one thread; may outlive its client. Gives its connection
/// back when the body has been read to the end.
class Exchange {
 public:
  Exchange(std::unique_ptr<ClientConnection> connection, std::shared_ptr<IdleConnections> idle);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  [[nodiscard]] base::Result<void> send(const std::string& request, const base::Until& until);

  [[nodiscard]] const ResponseHead& head() const noexcept { return response_.head(); }

  /// Adds the next bytes of the body to `into`. False: it is complete. One that is cut short is
  /// Unavailable.
  [[nodiscard]] base::Result<bool> read(std::string& into, const base::Until& until);

 private:
  std::unique_ptr<ClientConnection> connection_;  // Null once given back.
  std::shared_ptr<IdleConnections> idle_;
  ResponseParser response_;
};

/// A response, or why there is none.
struct Attempt {
  std::unique_ptr<Exchange> exchange{};
  base::Error error{};
  bool broken = false;  // The connection was there, and broke before the response's head came.
  bool reused = false;  // It had been idle: the server may have closed it just now.
};

class Client {
 public:
  Client(Url server, tls::ClientSettings tls, std::optional<Proxy> proxy);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// Fails where the TLS settings cannot be used.
  [[nodiscard]] base::Result<void> check();

  /// `reuse`: an idle connection will do. Errors name host or proxy.
  enum class Reuse { Allowed, No };
  [[nodiscard]] Attempt send(const ClientRequest& request, const tls::ClientIdentity& identity,
                             Reuse reuse, const base::Until& until);

  [[nodiscard]] const Url& server() const noexcept { return server_; }

 private:
  [[nodiscard]] base::Result<std::string> request_text(const ClientRequest& request) const;
  [[nodiscard]] base::Result<std::unique_ptr<ClientConnection>> connect(
      const tls::ClientContextPtr& context, const base::Until& until);

  const Url server_;
  const std::optional<Proxy> proxy_;
  tls::ClientContexts contexts_;
  Resolver resolver_;
  std::shared_ptr<IdleConnections> idle_;
};

}  // namespace injector::http
