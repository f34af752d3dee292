// A webhook server on a free port of 127.0.0.1, with certificates of its own.

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <catch2/catch.hpp>

#include "base/log.h"
#include "tests/support/test_certificates.h"
#include "tests/support/tls_client.h"
#include "tls/certificate.h"
#include "tls/serving_certificate.h"
#include "webhook/server.h"

namespace injector::tests {

/// Answers with the body it got.
inline webhook::HttpReply echo(std::string_view body) {
  return {200, std::string(body)};
}

class TestServer {
 public:
  explicit TestServer(webhook::AdmissionHandler handler = echo, webhook::ServerOptions options = {},
                      const std::string& client_ca = "")
      : ca(test_ca()),
        certificate(tls::ServingCertificate::create(to_pem(test_serving(ca), client_ca),
                                                    base::Logger::silent())
                        .value()) {
    options.listen = "127.0.0.1:0";
    server = std::make_unique<webhook::Server>(std::move(options),
                                               webhook::mutate_routes(std::move(handler)),
                                               certificate.get(), log.logger());
    REQUIRE(server->start());
  }

  [[nodiscard]] TlsClient connect(const TlsClientOptions& options = {}) const {
    return TlsClient(server->port(), options);
  }

  LogLines log;
  tls::KeyPair ca;
  std::unique_ptr<tls::ServingCertificate> certificate;
  std::unique_ptr<webhook::Server> server;
};

}  // namespace injector::tests
