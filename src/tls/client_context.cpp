#include "tls/client_context.h"

#include <arpa/inet.h>
#include <array>
#include <netinet/in.h>
#include <sys/stat.h>
#include <utility>

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include "base/files.h"
#include "tls/certificate.h"
#include "tls/session.h"

namespace injector::tls {
namespace {

using base::Result;

Result<std::string> pem_text(const PemSource& source) {
  return source.data.empty() ? base::read_file(source.file) : Result<std::string>(source.data);
}

/// "client key (data)", "certificate authority (/path)".
std::string described(const char* what, const PemSource& source) {
  return std::string(what) + " (" + (source.data.empty() ? source.file : "data") + ")";
}

Result<std::vector<Certificate>> read_chain(const char* what, const PemSource& source) {
  auto text = pem_text(source);
  if (!text) {
    return annotate(std::move(text).error(), what);
  }
  auto chain = parse_bundle(text.value());
  return chain ? std::move(chain) : annotate(std::move(chain).error(), described(what, source));
}

Result<void> trust(SSL_CTX* context, const ClientSettings& settings) {
  SSL_CTX_set_verify(context, settings.skip_verify ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, nullptr);
  if (settings.skip_verify) {
    return {};
  }
  if (settings.authority.empty()) {
    SSL_CTX_set_default_verify_paths(context);
    return {};
  }
  INJ_ASSIGN(const auto bundle, read_chain("certificate authority", settings.authority));
  for (const Certificate& certificate : bundle) {
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(context), certificate.handle()) != 1) {
      return openssl_error(described("certificate authority", settings.authority));
    }
  }
  return {};
}

Result<void> identify(SSL_CTX* context, const PemSource& certificate, const PemSource& key) {
  if (certificate.empty() && key.empty()) {
    return {};
  }
  INJ_ASSIGN(const auto chain, read_chain("client certificate", certificate));
  auto text = pem_text(key);
  if (!text) {
    return annotate(std::move(text).error(), "client key");
  }
  const auto secret = PrivateKey::parse(text.value());
  if (!secret) {
    return annotate(secret.error(), described("client key", key));
  }
  auto used = use_certificate(context, chain, secret.value());
  return used ? used : annotate(std::move(used).error(), described("client key", key));
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

std::vector<std::string> stamps_of(const ClientSettings& settings) {
  std::vector<std::string> stamps;
  for (const PemSource* source : {&settings.authority, &settings.certificate, &settings.key}) {
    stamps.push_back(source->data.empty() ? stamp(source->file) : std::string());
  }
  return stamps;
}

ClientSettings with_identity(ClientSettings settings, const ClientIdentity& identity) {
  if (!identity.certificate.empty()) {
    settings.certificate = PemSource{identity.certificate, {}};
    settings.key = PemSource{identity.key, {}};
  }
  return settings;
}

bool is_address(const std::string& name) {
  std::array<unsigned char, sizeof(in6_addr)> binary{};
  return ::inet_pton(AF_INET, name.c_str(), binary.data()) == 1 ||
         ::inet_pton(AF_INET6, name.c_str(), binary.data()) == 1;
}

/// Whom the certificate must be for. An address is compared to the certificate's addresses and is
/// not sent as SNI, which knows only names.
bool expect_peer(SSL* ssl, const std::string& name) {
  if (is_address(name)) {
    return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name.c_str()) == 1;
  }
  SSL_set_hostflags(ssl,
                    X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  // The macro for this has an old-style cast in it.
  char* sni = const_cast<char*>(name.c_str());
  return SSL_set1_host(ssl, sni) == 1 &&
         SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, sni) == 1;
}

}  // namespace

ClientContext::ClientContext(SslContextPtr context) noexcept
    : context_(std::move(context)) {}

Result<ClientContextPtr> ClientContext::create(const ClientSettings& settings) {
  SslContextPtr context(SSL_CTX_new(TLS_client_method()));
  if (!context) {
    return openssl_error("TLS context");
  }
  set_protocol(context.get());
  SSL_CTX_set_alpn_protos(context.get(), kAlpnHttp11.data(), kAlpnHttp11.size());
  INJ_TRY(trust(context.get(), settings));
  INJ_TRY(identify(context.get(), settings.certificate, settings.key));
  return std::make_shared<const ClientContext>(std::move(context));
}

SslPtr ClientContext::start(int fd, const std::string& name) const {
  SslPtr ssl(SSL_new(context_.get()));
  if (!ssl || !attach_socket(ssl.get(), fd) || !expect_peer(ssl.get(), name)) {
    ERR_clear_error();
    return nullptr;
  }
  SSL_set_connect_state(ssl.get());
  return ssl;
}

ClientContexts::ClientContexts(ClientSettings settings)
    : settings_(std::move(settings)) {}

Result<ClientContextPtr> ClientContexts::get(const ClientIdentity& identity) {
  // Stamped before the files are read: a change in between is seen the next time.
  std::vector<std::string> stamps = stamps_of(settings_);
  const base::MutexLock lock(mutex_);
  const bool same_identity = identity == identity_;
  if (context_ != nullptr && same_identity && stamps == stamps_) {
    return context_;
  }
  auto fresh = ClientContext::create(with_identity(settings_, identity));
  if (!fresh) {
    // Half-written files of a rotation: the old context serves on, and the next call looks again.
    return context_ != nullptr && same_identity ? Result<ClientContextPtr>(context_) : fresh;
  }
  context_ = std::move(fresh).value();
  stamps_ = std::move(stamps);
  identity_ = identity;
  return context_;
}

const std::string& ClientContexts::name_for(const std::string& host) const {
  return settings_.server_name.empty() ? host : settings_.server_name;
}

}  // namespace injector::tls
