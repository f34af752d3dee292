// Owners of OpenSSL's objects, and its error queue as text.

#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "base/result.h"

namespace injector::tls {

template <auto Free>
struct Deleter {
  template <class T>
  void operator()(T* object) const noexcept {
    Free(object);
  }
};

using BioPtr = std::unique_ptr<BIO, Deleter<BIO_free_all>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;
using SslPtr = std::unique_ptr<SSL, Deleter<SSL_free>>;
using SslContextPtr = std::unique_ptr<SSL_CTX, Deleter<SSL_CTX_free>>;
using X509Ptr = std::unique_ptr<X509, Deleter<X509_free>>;

/// Empties this thread's error queue; the reason of its oldest entry, as OpenSSL words it.
/// "unknown reason" where the queue is empty.
[[nodiscard]] std::string take_openssl_reason();

/// "<what>: <OpenSSL's reason>".
[[nodiscard]] base::Error openssl_error(std::string_view what);

/// A read-only BIO over `bytes`, which outlive it; null if there is no memory.
[[nodiscard]] BioPtr read_bio(std::string_view bytes);

/// What was written to the memory BIO `bio`.
[[nodiscard]] std::string bio_text(BIO* bio);

}  // namespace injector::tls
