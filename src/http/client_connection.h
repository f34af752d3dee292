// One connection of a client, plain or TLS, direct or through a proxy. The stop token and the
// deadline that each call brings end its waits, from the look-up of the name on.
//
// Used by one thread at a time.

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/until.h"
#include "http/proxy.h"
#include "http/resolver.h"
#include "http/response_parser.h"
#include "http/stream.h"
#include "http/url.h"
#include "tls/client_context.h"

namespace injector::http {

class ClientConnection {
 public:
  struct Destination {
    const Url& server;
    const std::optional<Proxy>& proxy;
    tls::ClientContextPtr context;  // Null: plain HTTP.
    const std::string& name;        // What the certificate must be for.
  };

  /// Errors name the host, or the proxy, that could not be reached.
  [[nodiscard]] static base::Result<std::unique_ptr<ClientConnection>> open(
      Resolver& resolver, const Destination& to, const base::Until& until);

  ClientConnection(base::FileDescriptor socket, tls::ClientContextPtr context);
  ~ClientConnection();
  ClientConnection(const ClientConnection&) = delete;
  ClientConnection& operator=(const ClientConnection&) = delete;

  [[nodiscard]] base::Result<void> write(std::string_view bytes, const base::Until& until);

  /// Waits for bytes, or the end, and gives them to `response`.
  [[nodiscard]] base::Result<void> read(ResponseParser& response, const base::Until& until);

  /// Of an idle connection: the peer has neither closed it nor said something unasked.
  [[nodiscard]] bool healthy();

  [[nodiscard]] const tls::ClientContextPtr& context() const noexcept { return context_; }

 private:
  template <class Step>
  [[nodiscard]] base::Result<Stream::Io> repeat(const Step& step, const base::Until& until);
  [[nodiscard]] base::Result<void> open_tunnel(const Url& server, const Proxy& proxy,
                                               const base::Until& until);
  [[nodiscard]] base::Result<void> secure(const std::string& name, const base::Until& until);
  [[nodiscard]] base::Error handshake_error(const std::string& name) const;

  Stream stream_;
  base::Waiter waiter_;
  tls::ClientContextPtr context_;
};

}  // namespace injector::http
