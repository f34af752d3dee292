// One connection to an API server, plain or TLS. The socket does not block; waits are ended by the
// stop token and the deadline that each call brings, from the first connect(2) on. Writes never
// raise SIGPIPE.
//
// Used by one thread at a time.

#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/file_descriptor.h"
#include "base/result.h"
#include "kube/endpoint.h"
#include "kube/http_response.h"
#include "kube/tls_context.h"
#include "kube/waiter.h"

namespace injector::kube {

class Connection final : public ByteSource {
 public:
  /// `context` is null for plain HTTP; `name` is what the certificate must be good for.
  [[nodiscard]] static base::Result<std::unique_ptr<Connection>> open(const Endpoint& endpoint,
                                                                      SslContext context,
                                                                      const std::string& name,
                                                                      const Until& until);
  ~Connection() override;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  [[nodiscard]] base::Result<std::size_t> read(std::span<char> into, const Until& until) override;
  [[nodiscard]] base::Result<void> write(std::string_view bytes, const Until& until);

  /// Of an idle connection: the peer has neither closed it nor said something unasked.
  [[nodiscard]] bool healthy();

  [[nodiscard]] const SslContext& context() const noexcept { return context_; }

 private:
  struct SslFree {
    void operator()(SSL* ssl) const noexcept { SSL_free(ssl); }
  };

  // What one attempt brought: bytes, or the poll(2) events to wait for before the next.
  struct Step {
    std::size_t bytes = 0;
    short wait_for = 0;
  };

  Connection(base::FileDescriptor socket, SslContext context);

  [[nodiscard]] base::Result<void> handshake(const std::string& name, const Until& until);
  [[nodiscard]] base::Result<Step> read_some(std::span<char> into);
  [[nodiscard]] base::Result<Step> write_some(std::string_view bytes);
  [[nodiscard]] base::Result<Step> tls_step(int result, std::size_t bytes);
  [[nodiscard]] base::Error handshake_error(const std::string& name, base::Error error) const;

  base::FileDescriptor socket_;
  Waiter waiter_;
  SslContext context_;
  std::unique_ptr<SSL, SslFree> ssl_;  // Null: plain.
  bool broken_ = false;                // TLS failed: not even a goodbye may be sent.
};

}  // namespace injector::kube
