// An API server that does what a test tells it, on a real socket with real TLS: the faults that a
// real server does not show on demand.
//
//   FakeApi api([](const FakeApi::Request& request, FakeApi::Peer& peer) {
//     peer.respond(200, "{}");
//   });

#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "kube/config.h"

namespace injector::tests {

class FakeApi {
 public:
  struct Request {
    std::string method;
    std::string target;
    std::map<std::string, std::string> headers;  // Names in lower case.
    std::string body;
    std::string client;  // The common name of the client certificate, where asked for.
    int connection = 0;  // Counted from 1.

    /// Empty where absent.
    [[nodiscard]] std::string header(const std::string& name) const;
  };

  /// A request's side of its connection. Used by the handler only.
  class Peer {
   public:
    virtual ~Peer() = default;

    /// Bytes as they are. False: the client is gone.
    virtual bool send(std::string_view bytes) = 0;
    /// Ends the connection in good order; without TLS's goodbye; with a TCP reset.
    virtual void close() = 0;
    virtual void cut() = 0;
    virtual void reset() = 0;
    /// Returns when the client has gone, or the server is being destroyed.
    virtual void wait_gone() = 0;

    /// A whole answer with Content-Length. `headers` are lines with CRLF.
    void respond(int code, std::string_view body, std::string_view headers = "");
    /// A Status of that code and reason.
    void refuse(int code, std::string_view reason, std::string_view headers = "");
    /// The head of a chunked answer, and a chunk.
    void start_chunked();
    bool send_chunk(std::string_view bytes);
  };

  /// Called for each request, on its connection's own thread.
  using Handler = std::function<void(const Request& request, Peer& peer)>;

  enum class Security { Plain, Tls, ClientCertificate };

  explicit FakeApi(Handler handler, Security security = Security::Tls);
  /// Ends all connections and waits for their handlers.
  ~FakeApi();
  FakeApi(const FakeApi&) = delete;
  FakeApi& operator=(const FakeApi&) = delete;

  [[nodiscard]] std::string url() const;
  /// The address and the authority, no credentials.
  [[nodiscard]] kube::ClientConfig config() const;

  [[nodiscard]] std::vector<Request> requests() const;
  [[nodiscard]] int connections() const;

 private:
  class Connection;
  struct Tls;

  void accept_loop();
  void serve(Connection& connection);

  const Handler handler_;
  const Security security_;
  std::unique_ptr<Tls> tls_;
  int listener_ = -1;
  int port_ = 0;
  mutable base::Mutex mutex_;
  bool stopping_ INJ_GUARDED_BY(mutex_) = false;
  int count_ INJ_GUARDED_BY(mutex_) = 0;
  std::vector<Request> requests_ INJ_GUARDED_BY(mutex_);
  std::list<std::unique_ptr<Connection>> open_ INJ_GUARDED_BY(mutex_);
  std::vector<std::jthread> threads_;  // Of the accepting thread; read after it has ended.
  std::jthread acceptor_;
};

/// PEM files for the tests of this process: an authority, a server for 127.0.0.1 and localhost,
/// clients by name.
struct TestCertificates {
  static std::string authority();
  static tls::ClientSettings client(const std::string& name);
};

}  // namespace injector::tests
