// What the TLS sessions of servers and clients have in common.

#pragma once

#include <array>
#include <vector>

#include <openssl/ssl.h>

#include "base/result.h"
#include "tls/certificate.h"

namespace injector::tls {

/// As a list of ALPN protocols: "http/1.1" alone.
inline constexpr std::array<unsigned char, 9> kAlpnHttp11{8,   'h', 't', 't', 'p',
                                                          '/', '1', '.', '1'};

/// TLS 1.2 with forward secrecy and authenticated encryption only (no CBC), or TLS 1.3, whose
/// suites are all fine; for sockets that do not block.
void set_protocol(SSL_CTX* context);

/// Has `context` show the first certificate of `chain`, with the others as its issuers. Fails where
/// the key does not belong to it.
[[nodiscard]] base::Result<void> use_certificate(SSL_CTX* context,
                                                 const std::vector<Certificate>& chain,
                                                 const PrivateKey& key);

/// Has `ssl` read from and write to the socket `fd`, which it does not own, without ever raising
/// SIGPIPE (OpenSSL's own way, SSL_set_fd, does). False: there is no memory.
[[nodiscard]] bool attach_socket(SSL* ssl, int fd);

}  // namespace injector::tls
