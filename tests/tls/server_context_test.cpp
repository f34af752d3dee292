#include "tls/server_context.h"

#include <catch2/catch.hpp>
#include <openssl/ssl.h>

#include "tests/support/test_certificates.h"

namespace injector::tls {
namespace {

TEST_CASE("server tls: takes no suite without authenticated encryption", "[tls]") {
  const KeyPair ca = tests::test_ca();
  const auto context = ServerContext::create(tests::to_pem(tests::test_serving(ca)));
  REQUIRE(context.has_value());
  const SslPtr ssl = context.value()->start(0);
  REQUIRE(ssl != nullptr);
  const STACK_OF(SSL_CIPHER)* ciphers = SSL_get_ciphers(ssl.get());
  REQUIRE(sk_SSL_CIPHER_num(ciphers) > 3);
  for (int i = 0; i < sk_SSL_CIPHER_num(ciphers); ++i) {
    const SSL_CIPHER* cipher = sk_SSL_CIPHER_value(ciphers, i);
    INFO(SSL_CIPHER_get_name(cipher));
    CHECK(SSL_CIPHER_is_aead(cipher) == 1);
  }
}

}  // namespace
}  // namespace injector::tls
