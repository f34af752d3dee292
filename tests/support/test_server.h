// A server on a free port of 127.0.0.1, with certificates of its own.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <catch2/catch.hpp>

#include "base/log.h"
#include "http/server.h"
#include "tests/support/test_certificates.h"
#include "tests/support/tls_client.h"
#include "tls/certificate.h"
#include "tls/serving_certificate.h"

namespace injector::tests {

using BodyHandler = std::function<http::Reply(std::string_view body)>;

/// Answers with the body it got.
inline http::Reply echo(std::string_view body) {
  return {200, std::string(body)};
}

/// POST /mutate, answered on the event loop,
inline http::Route quickly(BodyHandler handler) {
  return {
      http::Method::Post, "/mutate",
      [handle = std::move(handler)](const http::Request& request) { return handle(request.body); }};
}

/// or by a handler that may block.
inline http::Route blocking(BodyHandler handler) {
  http::Route route = quickly(std::move(handler));
  route.may_block = true;
  return route;
}

class TestServer {
 public:
  explicit TestServer(http::Route route = quickly(echo), http::ServerOptions options = {},
                      const std::string& client_ca = "")
      : ca(test_ca()),
        certificate(tls::ServingCertificate::create(to_pem(test_serving(ca), client_ca),
                                                    base::Logger::silent())
                        .value()) {
    options.listen = "127.0.0.1:0";
    server = std::make_unique<http::Server>(std::move(options), http::Routes{std::move(route)},
                                            certificate.get(), log.logger());
    REQUIRE(server->start());
  }

  [[nodiscard]] TlsClient connect(const TlsClientOptions& options = {}) const {
    return TlsClient(server->port(), options);
  }

  LogLines log;
  tls::KeyPair ca;
  std::unique_ptr<tls::ServingCertificate> certificate;
  std::unique_ptr<http::Server> server;
};

}  // namespace injector::tests
