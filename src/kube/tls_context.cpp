#include "kube/tls_context.h"

#include <array>
#include <sys/stat.h>
#include <utility>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "kube/file.h"

namespace injector::kube {
namespace {

using base::Error;
using base::Result;

struct OpensslFree {
  void operator()(BIO* bio) const noexcept { BIO_free(bio); }

  void operator()(X509* certificate) const noexcept { X509_free(certificate); }

  void operator()(EVP_PKEY* key) const noexcept { EVP_PKEY_free(key); }
};

template <class T>
using Owned = std::unique_ptr<T, OpensslFree>;

Owned<BIO> memory(const std::string& text) {
  return Owned<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

Owned<X509> next_certificate(BIO* bio) {
  return Owned<X509>(PEM_read_bio_X509(bio, nullptr, nullptr, nullptr));
}

// Without this OpenSSL would ask the terminal for the password of an encrypted key.
int no_password(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*user*/) {
  return -1;
}

Error unusable(const char* what, const PemSource& source) {
  const std::string from = source.data.empty() ? source.file : std::string("data");
  return base::invalid(std::string(what) + " (" + from + "): " + openssl_error());
}

Result<std::string> pem_text(const PemSource& source) {
  if (!source.data.empty()) {
    return source.data;
  }
  return read_file(source.file);
}

Result<void> trust(SSL_CTX* context, const TlsSettings& settings) {
  if (settings.skip_verify) {
    SSL_CTX_set_verify(context, SSL_VERIFY_NONE, nullptr);
    return {};
  }
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  if (settings.authority.empty()) {
    SSL_CTX_set_default_verify_paths(context);
    return {};
  }
  const Result<std::string> text = pem_text(settings.authority);
  if (!text) {
    return annotate(text.error(), "certificate authority");
  }
  const Owned<BIO> bio = memory(text.value());
  int count = 0;
  while (const Owned<X509> certificate = next_certificate(bio.get())) {
    count += X509_STORE_add_cert(SSL_CTX_get_cert_store(context), certificate.get());
  }
  if (count == 0) {
    return unusable("certificate authority", settings.authority);
  }
  ERR_clear_error();  // "No more certificates" is how the loop ends.
  return {};
}

Result<void> show_chain(SSL_CTX* context, const std::string& text, const PemSource& source) {
  const Owned<BIO> bio = memory(text);
  const Owned<X509> leaf = next_certificate(bio.get());
  if (leaf == nullptr || SSL_CTX_use_certificate(context, leaf.get()) != 1) {
    return unusable("client certificate", source);
  }
  while (Owned<X509> issuer = next_certificate(bio.get())) {
    if (SSL_CTX_add0_chain_cert(context, issuer.get()) == 1) {
      static_cast<void>(issuer.release());  // The context owns it now.
    }
  }
  ERR_clear_error();
  return {};
}

Result<void> use_key(SSL_CTX* context, const std::string& text, const PemSource& source) {
  const Owned<BIO> bio = memory(text);
  const Owned<EVP_PKEY> key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr));
  if (key == nullptr || SSL_CTX_use_PrivateKey(context, key.get()) != 1 ||
      SSL_CTX_check_private_key(context) != 1) {
    return unusable("client key", source);
  }
  return {};
}

Result<void> identify(SSL_CTX* context, const PemSource& certificate, const PemSource& key) {
  if (certificate.empty() && key.empty()) {
    return {};
  }
  const Result<std::string> chain = pem_text(certificate);
  if (!chain) {
    return annotate(chain.error(), "client certificate");
  }
  const Result<std::string> secret = pem_text(key);
  if (!secret) {
    return annotate(secret.error(), "client key");
  }
  if (auto shown = show_chain(context, chain.value(), certificate); !shown) {
    return shown;
  }
  return use_key(context, secret.value(), key);
}

Result<SslContext> make_context(const TlsSettings& settings) {
  const SslContext context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  if (context == nullptr) {
    return Error{base::ErrorCode::Internal, "TLS: " + openssl_error()};
  }
  constexpr std::array<unsigned char, 9> kProtocols{8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  // For TLS 1.2: forward secrecy and authenticated encryption only, no CBC.
  SSL_CTX_set_cipher_list(context.get(), "ECDHE+AESGCM:ECDHE+CHACHA20");
  SSL_CTX_set_alpn_protos(context.get(), kProtocols.data(), kProtocols.size());
  SSL_CTX_set_mode(context.get(),
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  INJ_TRY(trust(context.get(), settings));
  INJ_TRY(identify(context.get(), settings.certificate, settings.key));
  return context;
}

/// Changes whenever the file does, also when a symlink on its way is swapped.
std::string stamp(const std::string& path) {
  struct stat info {};

  if (path.empty() || ::stat(path.c_str(), &info) != 0) {
    return {};
  }
  return std::to_string(info.st_dev) + ":" + std::to_string(info.st_ino) + ":" +
         std::to_string(info.st_size) + ":" + std::to_string(info.st_mtim.tv_sec) + "." +
         std::to_string(info.st_mtim.tv_nsec);
}

std::vector<std::string> stamps_of(const TlsSettings& settings) {
  std::vector<std::string> stamps;
  for (const PemSource* source : {&settings.authority, &settings.certificate, &settings.key}) {
    stamps.push_back(source->data.empty() ? stamp(source->file) : std::string());
  }
  return stamps;
}

TlsSettings with_identity(TlsSettings settings, const ClientIdentity& identity) {
  if (!identity.certificate.empty()) {
    settings.certificate = PemSource{identity.certificate, {}};
    settings.key = PemSource{identity.key, {}};
  }
  return settings;
}

}  // namespace

TlsContexts::TlsContexts(TlsSettings settings)
    : settings_(std::move(settings)) {}

Result<SslContext> TlsContexts::get(const ClientIdentity& identity) {
  // Stamped before the files are read: a change in between is seen the next time.
  std::vector<std::string> stamps = stamps_of(settings_);
  const base::MutexLock lock(mutex_);
  const bool same_identity = identity == identity_;
  if (context_ != nullptr && same_identity && stamps == stamps_) {
    return context_;
  }
  Result<SslContext> fresh = make_context(with_identity(settings_, identity));
  if (!fresh) {
    // Half-written files of a rotation: the old context serves on, and the next call looks again.
    return context_ != nullptr && same_identity ? Result<SslContext>(context_) : fresh;
  }
  context_ = fresh.value();
  stamps_ = std::move(stamps);
  identity_ = identity;
  return context_;
}

const std::string& TlsContexts::name_for(const std::string& host) const {
  return settings_.server_name.empty() ? host : settings_.server_name;
}

std::string openssl_error() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  if (code == 0) {
    return "unknown TLS error";
  }
  const char* reason = ERR_reason_error_string(code);
  return reason != nullptr ? reason : "TLS error " + std::to_string(code);
}

}  // namespace injector::kube
