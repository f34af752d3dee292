#include "tls/session.h"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <sys/socket.h>

#include <openssl/bio.h>

namespace injector::tls {
namespace {

int socket_of(BIO* bio) {
  return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
}

int bio_write(BIO* bio, const char* data, int size) {
  const ssize_t sent = ::send(socket_of(bio), data, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  BIO_clear_retry_flags(bio);
  if (sent < 0 && (errno == EAGAIN || errno == EINTR)) {
    BIO_set_retry_write(bio);
  }
  return static_cast<int>(sent);
}

int bio_read(BIO* bio, char* data, int size) {
  const ssize_t got = ::recv(socket_of(bio), data, static_cast<std::size_t>(size), 0);
  BIO_clear_retry_flags(bio);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    BIO_set_retry_read(bio);
  }
  if (got == 0) {
    BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  }
  return static_cast<int>(got);
}

long bio_control(BIO* bio, int command, long /*number*/, void* /*pointer*/) {
  if (command == BIO_CTRL_EOF) {
    return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
  }
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

const BIO_METHOD* socket_method() {
  static const BIO_METHOD* const kMethod = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
    BIO_meth_set_write(made, bio_write);
    BIO_meth_set_read(made, bio_read);
    BIO_meth_set_ctrl(made, bio_control);
    return made;
  }();
  return kMethod;
}

}  // namespace

void set_protocol(SSL_CTX* context) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20");
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS);
  // One read(2) per record instead of two.
  SSL_CTX_set_read_ahead(context, 1);
}

base::Result<void> use_certificate(SSL_CTX* context, const std::vector<Certificate>& chain,
                                   const PrivateKey& key) {
  if (!key.belongs_to(chain.front())) {
    return base::invalid("the private key does not belong to the certificate");
  }
  if (SSL_CTX_use_certificate(context, chain.front().handle()) != 1) {
    return openssl_error("certificate");
  }
  for (std::size_t i = 1; i < chain.size(); ++i) {
    if (SSL_CTX_add1_chain_cert(context, chain[i].handle()) != 1) {
      return openssl_error("certificate chain");
    }
  }
  return SSL_CTX_use_PrivateKey(context, key.handle()) == 1 ? base::Result<void>()
                                                            : openssl_error("private key");
}

bool attach_socket(SSL* ssl, int fd) {
  BIO* bio = BIO_new(socket_method());
  if (bio == nullptr) {
    return false;
  }
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a BIO carries one pointer; ours is the descriptor.
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)));
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl, bio, bio);
  return true;
}

}  // namespace injector::tls
