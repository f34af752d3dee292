#include "tls/certificate.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cctype>
#include <ctime>
#include <utility>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include "base/check.h"

namespace injector::tls {
namespace {

using base::Result;

using NamesPtr = std::unique_ptr<GENERAL_NAMES, Deleter<GENERAL_NAMES_free>>;
using NamePtr = std::unique_ptr<GENERAL_NAME, Deleter<GENERAL_NAME_free>>;
using ExtensionPtr = std::unique_ptr<X509_EXTENSION, Deleter<X509_EXTENSION_free>>;
using BigNumberPtr = std::unique_ptr<BIGNUM, Deleter<BN_free>>;

constexpr std::size_t kMaxCommonName = 64;  // X.520's upper bound.

SystemTime to_system_time(const ASN1_TIME* time) {
  std::tm parts{};
  INJ_CHECK(ASN1_TIME_to_tm(time, &parts) == 1);
  return std::chrono::system_clock::from_time_t(::timegm(&parts));
}

std::string to_text(const ASN1_STRING* text) {
  const auto size = static_cast<std::size_t>(ASN1_STRING_length(text));
  const unsigned char* bytes = ASN1_STRING_get0_data(text);
  return {bytes, bytes + size};
}

std::string address_text(const ASN1_OCTET_STRING* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int family = ASN1_STRING_length(address) == 4 ? AF_INET : AF_INET6;
  if (family == AF_INET6 && ASN1_STRING_length(address) != 16) {
    return {};
  }
  ::inet_ntop(family, ASN1_STRING_get0_data(address), text.data(), text.size());
  return text.data();
}

std::string general_name_text(const GENERAL_NAME* name) {
  int type = 0;
  const void* value = GENERAL_NAME_get0_value(name, &type);
  if (type == GEN_DNS) {
    return to_text(static_cast<const ASN1_STRING*>(value));
  }
  return type == GEN_IPADD ? address_text(static_cast<const ASN1_OCTET_STRING*>(value)) : "";
}

bool is_dns_name(std::string_view name) {
  if (name.substr(0, 2) == "*.") {
    name.remove_prefix(2);
  }
  const auto allowed = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '.' || c == '_';
  };
  return !name.empty() && name.size() <= 253 && name.front() != '.' && name.back() != '.' &&
         name.find("..") == std::string_view::npos &&
         std::all_of(name.begin(), name.end(), allowed);
}

Result<NamePtr> to_general_name(const std::string& name) {
  NamePtr result(GENERAL_NAME_new());
  if (ASN1_OCTET_STRING* address = a2i_IPADDRESS(name.c_str()); address != nullptr) {
    GENERAL_NAME_set0_value(result.get(), GEN_IPADD, address);
    return result;
  }
  ERR_clear_error();  // Not an address: no error.
  if (!is_dns_name(name)) {
    return base::invalid("\"" + name + "\" is neither a DNS name nor an IP address");
  }
  ASN1_IA5STRING* text = ASN1_IA5STRING_new();
  ASN1_STRING_set(text, name.data(), static_cast<int>(name.size()));
  GENERAL_NAME_set0_value(result.get(), GEN_DNS, text);
  return result;
}

Result<void> add_names(X509* certificate, const std::vector<std::string>& names) {
  const NamesPtr list(sk_GENERAL_NAME_new_null());
  for (const std::string& name : names) {
    INJ_ASSIGN(auto entry, to_general_name(name));
    sk_GENERAL_NAME_push(list.get(), std::move(entry).release());
  }
  if (X509_add1_ext_i2d(certificate, NID_subject_alt_name, list.get(), 0, X509V3_ADD_DEFAULT) !=
      1) {
    return openssl_error("subject alternative names");
  }
  return {};
}

struct Extension {
  int nid;
  const char* value;
};

Result<void> add_extension(X509* certificate, X509* issuer, Extension wanted) {
  X509V3_CTX context{};
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const ExtensionPtr extension(X509V3_EXT_conf_nid(nullptr, &context, wanted.nid, wanted.value));
  if (!extension || X509_add_ext(certificate, extension.get(), -1) != 1) {
    return openssl_error(std::string("extension ") + OBJ_nid2sn(wanted.nid));
  }
  return {};
}

template <class Extensions>
Result<void> add_extensions(X509* certificate, X509* issuer, const Extensions& wanted) {
  for (const Extension& extension : wanted) {
    if (auto added = add_extension(certificate, issuer, extension); !added) {
      return added;
    }
  }
  return {};
}

/// 127 random bits: unique without keeping count, and positive as the standard wants it.
bool set_random_serial(X509* certificate) {
  std::array<unsigned char, 16> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) {
    return false;
  }
  bytes[0] &= 0x7fU;
  bytes[15] |= 1U;
  const BigNumberPtr number(BN_bin2bn(bytes.data(), static_cast<int>(bytes.size()), nullptr));
  return number && BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool set_common_name(X509* certificate, const std::string& name) {
  return X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(name.data()),
                                    static_cast<int>(name.size()), -1, 0) == 1;
}

bool set_times(X509* certificate, SystemTime not_before, SystemTime not_after) {
  const auto seconds = std::chrono::system_clock::to_time_t;
  return ASN1_TIME_set(X509_getm_notBefore(certificate), seconds(not_before)) != nullptr &&
         ASN1_TIME_set(X509_getm_notAfter(certificate), seconds(not_after)) != nullptr;
}

/// A certificate with everything but issuer, extensions and signature.
Result<X509Ptr> draft(const std::string& common_name, const PrivateKey& key, Validity validity) {
  if (validity.lifetime <= std::chrono::seconds::zero()) {
    return base::invalid("certificate lifetime must be positive");
  }
  X509Ptr certificate(X509_new());
  if (!certificate || X509_set_version(certificate.get(), X509_VERSION_3) != 1 ||
      !set_random_serial(certificate.get()) ||
      !set_times(certificate.get(), validity.from - kClockSkew,
                 validity.from + validity.lifetime) ||
      X509_set_pubkey(certificate.get(), key.handle()) != 1 ||
      !set_common_name(certificate.get(), common_name)) {
    return openssl_error("certificate " + common_name);
  }
  return certificate;
}

Result<KeyPair> sign(X509Ptr certificate, PrivateKey key, EVP_PKEY* signer) {
  if (X509_sign(certificate.get(), signer, EVP_sha256()) == 0) {
    return openssl_error("sign certificate");
  }
  return KeyPair{Certificate(std::move(certificate)), std::move(key)};
}

/// OpenSSL asks for a password where a key is encrypted: there is none.
int no_password(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*data*/) {
  return -1;
}

std::string pick_common_name(const std::vector<std::string>& names) {
  const auto fits = [](const std::string& name) { return name.size() <= kMaxCommonName; };
  const auto found = std::find_if(names.begin(), names.end(), fits);
  return found == names.end() ? "server" : *found;
}

struct Holder {
  std::string common_name;
  const char* usage;               // Extended key usage.
  std::vector<std::string> names;  // Subject alternative names.
};

Result<void> describe(X509* certificate, X509* issuer, const Holder& holder) {
  const std::array<Extension, 5> extensions{{
      {NID_basic_constraints, "critical,CA:FALSE"},
      {NID_key_usage, "critical,digitalSignature"},
      {NID_ext_key_usage, holder.usage},
      {NID_subject_key_identifier, "hash"},
      {NID_authority_key_identifier, "keyid:always"},
  }};
  X509_set_issuer_name(certificate, X509_get_subject_name(issuer));
  if (auto added = add_extensions(certificate, issuer, extensions); !added) {
    return added;
  }
  return holder.names.empty() ? Result<void>() : add_names(certificate, holder.names);
}

Result<KeyPair> issue(const KeyPair& ca, const Holder& holder, Validity validity) {
  const auto left =
      std::chrono::duration_cast<std::chrono::seconds>(ca.certificate.not_after() - validity.from);
  if (left <= std::chrono::seconds::zero()) {
    return base::invalid("the CA certificate has expired");
  }
  validity.lifetime = std::min(validity.lifetime, left);
  auto key = PrivateKey::generate();
  if (!key) {
    return key.error();
  }
  auto certificate = draft(holder.common_name, key.value(), validity);
  if (!certificate) {
    return certificate.error();
  }
  if (auto described = describe(certificate.value().get(), ca.certificate.handle(), holder);
      !described) {
    return described.error();
  }
  return sign(std::move(certificate).value(), std::move(key).value(), ca.key.handle());
}

}  // namespace

Result<Certificate> Certificate::parse(std::string_view pem) {
  const BioPtr bio = read_bio(pem);
  X509Ptr handle(PEM_read_bio_X509(bio.get(), nullptr, no_password, nullptr));
  if (!handle) {
    return openssl_error("certificate");
  }
  return Certificate(std::move(handle));
}

Certificate::Certificate(X509Ptr handle)
    : handle_(std::move(handle)) {
  // Fills OpenSSL's cache of the extensions now, so that sharing the certificate needs no lock.
  X509_check_purpose(handle_.get(), -1, 0);
}

std::string Certificate::pem() const {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(bio.get(), handle_.get());
  return bio_text(bio.get());
}

SystemTime Certificate::not_before() const {
  return to_system_time(X509_get0_notBefore(handle_.get()));
}

SystemTime Certificate::not_after() const {
  return to_system_time(X509_get0_notAfter(handle_.get()));
}

std::string Certificate::common_name() const {
  const X509_NAME* subject = X509_get_subject_name(handle_.get());
  const int index = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (index < 0) {
    return {};
  }
  return to_text(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, index)));
}

std::vector<std::string> Certificate::names() const {
  const NamesPtr list(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(handle_.get(), NID_subject_alt_name, nullptr, nullptr)));
  std::vector<std::string> names;
  for (int i = 0; list && i < sk_GENERAL_NAME_num(list.get()); ++i) {
    std::string name = general_name_text(sk_GENERAL_NAME_value(list.get(), i));
    if (!name.empty()) {
      names.push_back(std::move(name));
    }
  }
  return names;
}

bool Certificate::is_ca() const {
  return X509_check_ca(handle_.get()) == 1;
}

std::string Certificate::fingerprint() const {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  INJ_CHECK(X509_digest(handle_.get(), EVP_sha256(), digest.data(), &size) == 1);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (unsigned int i = 0; i < size; ++i) {
    text += kDigits[digest.at(i) >> 4U];
    text += kDigits[digest.at(i) & 0xfU];
  }
  return text;
}

bool Certificate::issued_by(const Certificate& issuer) const {
  const bool issued = X509_check_issued(issuer.handle(), handle_.get()) == X509_V_OK &&
                      X509_verify(handle_.get(), X509_get0_pubkey(issuer.handle())) == 1;
  ERR_clear_error();
  return issued;
}

Result<PrivateKey> PrivateKey::generate() {
  KeyPtr handle(EVP_EC_gen("P-256"));
  if (!handle) {
    return openssl_error("generate key");
  }
  return PrivateKey(std::move(handle));
}

Result<PrivateKey> PrivateKey::parse(std::string_view pem) {
  const BioPtr bio = read_bio(pem);
  KeyPtr handle(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr));
  if (!handle) {
    return openssl_error("private key");
  }
  return PrivateKey(std::move(handle));
}

PrivateKey::PrivateKey(KeyPtr handle)
    : handle_(std::move(handle)) {}

std::string PrivateKey::pem() const {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_PKCS8PrivateKey(bio.get(), handle_.get(), nullptr, nullptr, 0, nullptr, nullptr);
  return bio_text(bio.get());
}

bool PrivateKey::belongs_to(const Certificate& certificate) const {
  const bool belongs = X509_check_private_key(certificate.handle(), handle_.get()) == 1;
  ERR_clear_error();
  return belongs;
}

Result<KeyPair> make_ca(const std::string& common_name, Validity validity) {
  constexpr std::array<Extension, 3> kExtensions{{
      {NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
      {NID_key_usage, "critical,keyCertSign,cRLSign"},
      {NID_subject_key_identifier, "hash"},
  }};
  INJ_ASSIGN(auto key, PrivateKey::generate());
  INJ_ASSIGN(auto certificate, draft(common_name, key, validity));
  X509* raw = certificate.get();
  X509_set_issuer_name(raw, X509_get_subject_name(raw));
  INJ_TRY(add_extensions(raw, raw, kExtensions));
  EVP_PKEY* signer = key.handle();
  return sign(std::move(certificate), std::move(key), signer);
}

Result<KeyPair> make_serving_certificate(const KeyPair& ca, const std::vector<std::string>& names,
                                         Validity validity) {
  if (names.empty()) {
    return base::invalid("a serving certificate needs a DNS name or an IP address");
  }
  return issue(ca, {pick_common_name(names), "serverAuth", names}, validity);
}

Result<KeyPair> make_client_certificate(const KeyPair& ca, const std::string& common_name,
                                        Validity validity) {
  return issue(ca, {common_name, "clientAuth", {}}, validity);
}

Result<std::vector<Certificate>> parse_bundle(std::string_view pem) {
  const BioPtr bio = read_bio(pem);
  std::vector<Certificate> certificates;
  while (true) {
    X509Ptr handle(PEM_read_bio_X509(bio.get(), nullptr, no_password, nullptr));
    if (handle) {
      certificates.emplace_back(std::move(handle));
      continue;
    }
    const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
    if (!at_end || certificates.empty()) {
      return openssl_error("certificate " + std::to_string(certificates.size() + 1));
    }
    ERR_clear_error();
    return certificates;
  }
}

std::string bundle_pem(const std::vector<Certificate>& certificates) {
  std::string pem;
  for (const Certificate& certificate : certificates) {
    pem += certificate.pem();
  }
  return pem;
}

std::vector<Certificate> merge_bundles(const std::vector<Certificate>& first,
                                       const std::vector<Certificate>& second, SystemTime now) {
  std::vector<Certificate> merged;
  const auto known = [&merged](const Certificate& candidate) {
    return std::any_of(merged.begin(), merged.end(), [&candidate](const Certificate& there) {
      return X509_cmp(there.handle(), candidate.handle()) == 0;
    });
  };
  for (const auto* bundle : {&first, &second}) {
    std::copy_if(bundle->begin(), bundle->end(), std::back_inserter(merged),
                 [&](const Certificate& candidate) {
                   return candidate.not_after() >= now && !known(candidate);
                 });
  }
  return merged;
}

}  // namespace injector::tls
