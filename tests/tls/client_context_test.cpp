#include "tls/client_context.h"

#include <catch2/catch.hpp>
#include <openssl/ssl.h>

namespace injector::tls {
namespace {

TEST_CASE("client tls: offers no suite without authenticated encryption", "[tls]") {
  ClientContexts contexts{ClientSettings{}};
  const auto context = contexts.get({});
  REQUIRE(context.has_value());
  const STACK_OF(SSL_CIPHER)* ciphers = SSL_CTX_get_ciphers(context.value()->handle());
  REQUIRE(sk_SSL_CIPHER_num(ciphers) > 3);
  for (int i = 0; i < sk_SSL_CIPHER_num(ciphers); ++i) {
    const SSL_CIPHER* cipher = sk_SSL_CIPHER_value(ciphers, i);
    INFO(SSL_CIPHER_get_name(cipher));
    CHECK(SSL_CIPHER_is_aead(cipher) == 1);
  }
}

}  // namespace
}  // namespace injector::tls
