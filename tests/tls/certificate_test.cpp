#include "tls/certificate.h"

#include <algorithm>
#include <chrono>
#include <string>

#include <catch2/catch.hpp>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

namespace injector::tls {
namespace {

using std::chrono::hours;

const SystemTime kNow = std::chrono::system_clock::from_time_t(1'800'000'000);

KeyPair ca(const std::string& name = "test-ca", hours lifetime = hours(24 * 365)) {
  return make_ca(name, {kNow, lifetime}).value();
}

KeyPair serving(const KeyPair& issuer, std::vector<std::string> names = {"svc.ns.svc"}) {
  return make_serving_certificate(issuer, names, {kNow, hours(24)}).value();
}

/// The verdict of OpenSSL's chain verification for a TLS server, at a time and for a host.
int verify(const Certificate& leaf, const Certificate& root, SystemTime at, const char* host) {
  const std::unique_ptr<X509_STORE, Deleter<X509_STORE_free>> store(X509_STORE_new());
  X509_STORE_add_cert(store.get(), root.handle());
  const std::unique_ptr<X509_STORE_CTX, Deleter<X509_STORE_CTX_free>> context(X509_STORE_CTX_new());
  X509_STORE_CTX_init(context.get(), store.get(), leaf.handle(), nullptr);
  X509_VERIFY_PARAM* param = X509_STORE_CTX_get0_param(context.get());
  X509_VERIFY_PARAM_set_time(param, std::chrono::system_clock::to_time_t(at));
  X509_VERIFY_PARAM_set_flags(param, X509_V_FLAG_X509_STRICT);
  X509_VERIFY_PARAM_set_purpose(param, X509_PURPOSE_SSL_SERVER);
  X509_VERIFY_PARAM_set1_host(param, host, 0);
  X509_verify_cert(context.get());
  return X509_STORE_CTX_get_error(context.get());
}

TEST_CASE("certificate: a serving certificate passes a strict verifier", "[tls]") {
  const KeyPair root = ca();
  const KeyPair leaf = serving(root, {"svc.ns.svc", "*.example.org", "10.0.0.1", "::1"});
  CHECK(verify(leaf.certificate, root.certificate, kNow, "svc.ns.svc") == X509_V_OK);
  CHECK(verify(leaf.certificate, root.certificate, kNow, "a.example.org") == X509_V_OK);
  CHECK(verify(leaf.certificate, root.certificate, kNow, "other") == X509_V_ERR_HOSTNAME_MISMATCH);
  CHECK(verify(leaf.certificate, ca().certificate, kNow, "svc.ns.svc") != X509_V_OK);
}

TEST_CASE("certificate: it holds a little before it was made and not after its lifetime", "[tls]") {
  const KeyPair root = ca();
  const KeyPair leaf = serving(root);
  CHECK(leaf.certificate.not_before() == kNow - kClockSkew);
  CHECK(leaf.certificate.not_after() == kNow + hours(24));
  CHECK(verify(leaf.certificate, root.certificate, kNow + hours(25), "svc.ns.svc") ==
        X509_V_ERR_CERT_HAS_EXPIRED);
}

TEST_CASE("certificate: names, CA bit and key usage are what they should be", "[tls]") {
  const KeyPair root = ca();
  const KeyPair leaf = serving(root, {"svc.ns.svc", "10.0.0.1", "::1"});
  CHECK(leaf.certificate.names() == std::vector<std::string>{"svc.ns.svc", "10.0.0.1", "::1"});
  CHECK(leaf.certificate.common_name() == "svc.ns.svc");
  CHECK(root.certificate.is_ca());
  CHECK_FALSE(leaf.certificate.is_ca());
  CHECK(X509_get_key_usage(leaf.certificate.handle()) == KU_DIGITAL_SIGNATURE);
  CHECK(X509_get_extended_key_usage(leaf.certificate.handle()) == XKU_SSL_SERVER);
  CHECK(X509_get0_authority_key_id(leaf.certificate.handle()) != nullptr);
  CHECK(EVP_PKEY_get_bits(leaf.key.handle()) == 256);
}

TEST_CASE("certificate: a long first name is no common name", "[tls]") {
  const std::string longest = std::string(63, 'a') + ".example.org";
  CHECK(serving(ca(), {longest, "short.example.org"}).certificate.common_name() ==
        "short.example.org");
  CHECK(serving(ca(), {longest}).certificate.names() == std::vector<std::string>{longest});
}

TEST_CASE("certificate: serials differ", "[tls]") {
  const KeyPair root = ca();
  CHECK(ASN1_INTEGER_cmp(X509_get0_serialNumber(serving(root).certificate.handle()),
                         X509_get0_serialNumber(serving(root).certificate.handle())) != 0);
}

TEST_CASE("certificate: a serving certificate does not outlive its CA", "[tls]") {
  const KeyPair root = ca("short", hours(1));
  CHECK(serving(root).certificate.not_after() == root.certificate.not_after());
  const auto late = make_serving_certificate(root, {"a"}, {kNow + hours(2), hours(1)});
  REQUIRE_FALSE(late);
  CHECK(late.error().message.find("expired") != std::string::npos);
}

TEST_CASE("certificate: what cannot be a certificate is refused", "[tls]") {
  const KeyPair root = ca();
  CHECK_FALSE(make_serving_certificate(root, {}, {kNow, hours(1)}));
  CHECK_FALSE(make_serving_certificate(root, {"a"}, {kNow, hours(0)}));
  for (const char* name : {"", "a b", "a/b", ".a", "a.", "a..b", "*", "a.*.b", "1.2.3.4/8"}) {
    CAPTURE(name);
    CHECK_FALSE(make_serving_certificate(root, {name}, {kNow, hours(1)}));
  }
}

TEST_CASE("certificate: PEM out is PEM in", "[tls]") {
  const KeyPair root = ca();
  const KeyPair leaf = serving(root);
  const auto certificate = Certificate::parse("some text before\n" + leaf.certificate.pem());
  REQUIRE(certificate);
  CHECK(certificate.value().fingerprint() == leaf.certificate.fingerprint());
  CHECK(leaf.certificate.fingerprint().size() == 64);
  const auto key = PrivateKey::parse(leaf.key.pem());
  REQUIRE(key);
  CHECK(key.value().belongs_to(certificate.value()));
  CHECK_FALSE(key.value().belongs_to(root.certificate));
}

TEST_CASE("certificate: who issued it is told by the signature", "[tls]") {
  const KeyPair root = ca();
  const KeyPair impostor = ca();
  const KeyPair leaf = serving(root);
  CHECK(leaf.certificate.issued_by(root.certificate));
  CHECK_FALSE(leaf.certificate.issued_by(impostor.certificate));
}

TEST_CASE("certificate: nonsense is an error with OpenSSL's reason", "[tls]") {
  CHECK(Certificate::parse("").error().message.find("no start line") != std::string::npos);
  CHECK_FALSE(Certificate::parse("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"));
  CHECK_FALSE(PrivateKey::parse("nonsense"));
  CHECK_FALSE(PrivateKey::parse({}));
  CHECK_FALSE(PrivateKey::parse(ca().certificate.pem()));
}

TEST_CASE("private key: an encrypted key is an error and asks nobody", "[tls]") {
  const PrivateKey key = PrivateKey::generate().value();
  const BioPtr bio(BIO_new(BIO_s_mem()));
  std::string password = "secret";
  REQUIRE(PEM_write_bio_PKCS8PrivateKey(bio.get(), key.handle(), EVP_aes_128_cbc(), password.data(),
                                        static_cast<int>(password.size()), nullptr, nullptr) == 1);
  CHECK_FALSE(PrivateKey::parse(bio_text(bio.get())));
}

TEST_CASE("bundle: several CAs in one PEM are read in order", "[tls]") {
  const std::vector<Certificate> two{ca("one").certificate, ca("two").certificate};
  const auto bundle = parse_bundle("# comment\n" + bundle_pem(two) + "\n# the end\n");
  REQUIRE(bundle);
  REQUIRE(bundle.value().size() == 2);
  CHECK(bundle.value()[0].common_name() == "one");
  CHECK(bundle.value()[1].common_name() == "two");
}

TEST_CASE("bundle: empty or broken is an error", "[tls]") {
  CHECK_FALSE(parse_bundle(""));
  CHECK_FALSE(parse_bundle("no certificate"));
  const std::string pem = ca().certificate.pem();
  CHECK_FALSE(parse_bundle(pem + pem.substr(0, pem.size() / 2)));
  CHECK_FALSE(parse_bundle(pem + "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"));
}

TEST_CASE("bundle: merging drops repetitions and what has expired", "[tls]") {
  const Certificate old_ca = ca("old", hours(1)).certificate;
  const Certificate current = ca("current").certificate;
  const Certificate next = ca("next").certificate;
  const auto merged = merge_bundles({old_ca, current}, {current, next}, kNow + hours(2));
  REQUIRE(merged.size() == 2);
  CHECK(merged[0].common_name() == "current");
  CHECK(merged[1].common_name() == "next");
}

}  // namespace
}  // namespace injector::tls
