#include "tls/server_context.h"

#include <utility>

#include <openssl/err.h>

#include "tls/session.h"

namespace injector::tls {
namespace {

using base::Result;

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

void set_server_protocol(SSL_CTX* context) {
  set_protocol(context);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_alpn_select_cb(context, select_alpn, nullptr);
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
  SslContextPtr context(SSL_CTX_new(TLS_server_method()));
  if (!context) {
    return openssl_error("TLS context");
  }
  set_server_protocol(context.get());
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
  if (!ssl || !attach_socket(ssl.get(), fd)) {
    ERR_clear_error();
    return nullptr;
  }
  SSL_set_accept_state(ssl.get());
  return ssl;
}

}  // namespace injector::tls
