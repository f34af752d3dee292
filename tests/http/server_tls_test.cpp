// Handshakes: who gets in, with which certificate, and what the others are told.

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/test_server.h"

namespace injector::tests {
namespace {

std::string peer_name(const TlsClient& client) {
  const tls::X509Ptr peer(SSL_get1_peer_certificate(client.ssl()));
  return tls::Certificate(tls::X509Ptr(X509_dup(peer.get()))).common_name();
}

TEST_CASE("server: its certificate verifies against its CA", "[http]") {
  const TestServer test;
  TlsClient client = test.connect({.ca = &test.ca.certificate});
  INFO(client.failure());
  REQUIRE(client.connected());
  CHECK(client.ask(post("{}")).value().status == 200);
}

TEST_CASE("server: speaks TLS 1.2 and 1.3 and nothing older", "[http]") {
  const TestServer test;
  CHECK(test.connect({.max_version = TLS1_3_VERSION}).connected());
  CHECK(test.connect({.max_version = TLS1_2_VERSION}).connected());
  CHECK_FALSE(test.connect({.max_version = TLS1_1_VERSION}).connected());
  CHECK(eventually([&test] { return test.server->stats().handshake_failures == 1; }));
}

TEST_CASE("server: TLS 1.2 is served", "[http]") {
  const TestServer test;
  TlsClient client = test.connect({.max_version = TLS1_2_VERSION});
  CHECK(client.ask(post("{}")).value().status == 200);
  CHECK(client.ask(post("{}")).value().status == 200);
}

TEST_CASE("server: chooses http/1.1 where h2 is offered as well", "[http]") {
  const TestServer test;
  const TlsClient client = test.connect();
  const unsigned char* protocol = nullptr;
  unsigned int size = 0;
  SSL_get0_alpn_selected(client.ssl(), &protocol, &size);
  CHECK(std::string(protocol, protocol + size) == "http/1.1");
}

TEST_CASE("server: plain HTTP on the TLS port is told so", "[http]") {
  const TestServer test;
  TlsClient client = test.connect({.tls = false});
  const auto answer = client.ask(post("{}"));
  REQUIRE(answer);
  CHECK(answer->status == 400);
  CHECK(answer->body.find("HTTPS") != std::string::npos);
  CHECK(client.wait_for_close());
  CHECK(test.log.count("TLS handshake failed") == 1);
}

TEST_CASE("server: garbage instead of a handshake is closed", "[http]") {
  const TestServer test;
  const auto garbage = GENERATE(as<std::string>(), "\x16\x03\x01\x02garbage and more garbage",
                                "SSH-2.0-OpenSSH_9.2\r\n", std::string(70000, '\xff'));
  TlsClient client = test.connect({.tls = false});
  client.send(garbage);
  ::shutdown(client.fd(), SHUT_WR);
  client.receive_all();
  CHECK(eventually([&test] { return test.server->stats().connections == 0; }));
  CHECK(test.server->stats().handshake_failures == 1);
}

TEST_CASE("server: with a client CA only its clients are served", "[http]") {
  const tls::KeyPair client_ca = test_ca("client-ca");
  const tls::KeyPair other_ca = test_ca("other-ca");
  const tls::KeyPair good = tls::make_client_certificate(client_ca, "apiserver", one_day()).value();
  const tls::KeyPair bad = tls::make_client_certificate(other_ca, "apiserver", one_day()).value();
  const tls::KeyPair serving = test_serving(client_ca);
  const TestServer test(quickly(echo), {}, client_ca.certificate.pem());

  TlsClient welcome = test.connect({.certificate = &good});
  CHECK(welcome.ask(post("{}")).value().status == 200);
  // TLS 1.3 tells the client of its refusal after the handshake.
  const auto refused = [&test](const TlsClientOptions& options) {
    TlsClient client = test.connect(options);
    return !client.connected() || !client.ask(post("{}")).has_value();
  };
  CHECK(refused({.certificate = &bad}));
  CHECK(refused({.certificate = &serving}));
  CHECK(refused({}));
  CHECK(refused({.max_version = TLS1_2_VERSION}));
}

TEST_CASE("server: a replaced certificate is for new connections, and old ones go on", "[http]") {
  const TestServer test;
  TlsClient before = test.connect();
  REQUIRE(before.ask(post("{}")).value().status == 200);
  REQUIRE(test.certificate->replace(to_pem(test_serving(test.ca, "renewed.example"))));
  const TlsClient after = test.connect();
  CHECK(peer_name(after) == "renewed.example");
  CHECK(before.ask(post("{}")).value().status == 200);
  CHECK(peer_name(before) == "localhost");
}

TEST_CASE("server: a certificate swapped under load fails no request", "[http]") {
  const TestServer test;
  constexpr int kClients = 4;
  constexpr int kRounds = 60;
  std::atomic<int> failures{0};
  std::atomic<int> done{0};
  std::vector<std::jthread> clients;
  for (int i = 0; i < kClients; ++i) {
    clients.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        TlsClient client = test.connect({.ca = &test.ca.certificate});
        for (int request = 0; request < 5; ++request) {
          const auto answer = client.ask(post("{}"));
          failures += answer && answer->status == 200 ? 0 : 1;
        }
      }
      ++done;
    });
  }
  int swaps = 0;
  while (done < kClients) {
    REQUIRE(
        test.certificate->replace(to_pem(test_serving(test.ca, "name" + std::to_string(++swaps)))));
    // A replacement that cannot be used must not be noticed by anybody.
    CHECK_FALSE(test.certificate->replace({"nonsense", "nonsense", ""}));
  }
  clients.clear();
  CHECK(failures == 0);
  CHECK(swaps > 1);
}

}  // namespace
}  // namespace injector::tests
