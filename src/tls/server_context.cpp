#include "tls/server_context.h"

#include <array>
#include <utility>

#include <openssl/err.h>

namespace injector::tls {
namespace {

using base::Result;

constexpr std::array<unsigned char, 9> kAlpnHttp11{8, 'h', 't', 't', 'p', '/', '1', '.', '1'};

/// http/1.1 where the client offers it. A client that offers only other protocols goes on without
/// ALPN and is answered in HTTP/1.1 as well: refusing it helps nobody.
// NOLINTNEXTLINE(readability-function-size): the signature is OpenSSL's
int select_alpn(SSL* /*ssl*/, const unsigned char** out, unsigned char* out_size,
                const unsigned char* offered, unsigned int offered_size, void* /*data*/) {
  unsigned char* chosen = nullptr;
  const int found = SSL_select_next_proto(&chosen, out_size, kAlpnHttp11.data(), kAlpnHttp11.size(),
                                          offered, offered_size);
  *out = chosen;
  return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

// For TLS 1.2: forward secrecy and authenticated encryption only, no CBC. Those of 1.3 are all
// fine.
constexpr const char* kCiphers = "ECDHE+AESGCM:ECDHE+CHACHA20";

void set_protocol(SSL_CTX* context) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_cipher_list(context, kCiphers);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_alpn_select_cb(context, select_alpn, nullptr);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS);
  // One read(2) a record instead of two.
  SSL_CTX_set_read_ahead(context, 1);
}

Result<void> use_certificate(SSL_CTX* context, const std::vector<Certificate>& chain,
                             const PrivateKey& key) {
  if (SSL_CTX_use_certificate(context, chain.front().handle()) != 1) {
    return openssl_error("serving certificate");
  }
  for (std::size_t i = 1; i < chain.size(); ++i) {
    if (SSL_CTX_add1_chain_cert(context, chain[i].handle()) != 1) {
      return openssl_error("certificate chain");
    }
  }
  if (SSL_CTX_use_PrivateKey(context, key.handle()) != 1) {
    return openssl_error("private key");
  }
  return {};
}

Result<void> demand_client_certificate(SSL_CTX* context, const std::string& client_ca) {
  auto bundle = parse_bundle(client_ca);
  if (!bundle) {
    return base::annotate(bundle.error(), "client CA");
  }
  for (const Certificate& certificate : bundle.value()) {
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(context), certificate.handle()) != 1 ||
        SSL_CTX_add_client_CA(context, certificate.handle()) != 1) {
      return openssl_error("client CA");
    }
  }
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  return {};
}

}  // namespace

Result<std::shared_ptr<const ServerContext>> ServerContext::create(const ServerPem& pem) {
  INJ_ASSIGN(auto chain, parse_bundle(pem.certificate));
  auto key = PrivateKey::parse(pem.key);
  if (!key) {
    return key.error();
  }
  if (!key.value().belongs_to(chain.front())) {
    return base::invalid("the private key does not belong to the certificate");
  }
  SslContextPtr context(SSL_CTX_new(TLS_server_method()));
  if (!context) {
    return openssl_error("TLS context");
  }
  set_protocol(context.get());
  INJ_TRY(use_certificate(context.get(), chain, key.value()));
  if (!pem.client_ca.empty()) {
    INJ_TRY(demand_client_certificate(context.get(), pem.client_ca));
  }
  return std::make_shared<const ServerContext>(std::move(context), chain.front());
}

ServerContext::ServerContext(SslContextPtr context, Certificate certificate)
    : context_(std::move(context)),
      certificate_(std::move(certificate)) {}

SslPtr ServerContext::start(int fd) const {
  SslPtr ssl(SSL_new(context_.get()));
  if (!ssl || SSL_set_fd(ssl.get(), fd) != 1) {
    ERR_clear_error();
    return nullptr;
  }
  SSL_set_accept_state(ssl.get());
  return ssl;
}

}  // namespace injector::tls
