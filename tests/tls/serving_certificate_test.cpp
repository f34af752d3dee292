#include "tls/serving_certificate.h"

#include <chrono>
#include <string>

#include <catch2/catch.hpp>

#include "tests/support/temp_dir.h"
#include "tests/support/test_certificates.h"

namespace injector::tls {
namespace {

using std::chrono::hours;
using tests::eventually;
using tests::LogLines;
using tests::TempDir;
using tests::test_ca;
using tests::test_serving;
using tests::to_pem;

const SystemTime kExpiry = std::chrono::system_clock::from_time_t(1'800'000'000);

SystemTime days_before(int days) {
  return kExpiry - hours(24) * days;
}

TEST_CASE("expiry warning: comes 30, 7 and 1 days before, and after", "[tls]") {
  CHECK(expiry_warning(days_before(31), kExpiry, {}) == std::nullopt);
  CHECK(expiry_warning(days_before(30), kExpiry, {}) == 30);
  CHECK(expiry_warning(days_before(8), kExpiry, {}) == 30);
  CHECK(expiry_warning(days_before(7), kExpiry, {}) == 7);
  CHECK(expiry_warning(days_before(1), kExpiry, {}) == 1);
  CHECK(expiry_warning(kExpiry - std::chrono::seconds(1), kExpiry, {}) == 1);
  CHECK(expiry_warning(kExpiry, kExpiry, {}) == 0);
  CHECK(expiry_warning(kExpiry + hours(1000), kExpiry, {}) == 0);
}

TEST_CASE("expiry warning: each comes once", "[tls]") {
  CHECK(expiry_warning(days_before(29), kExpiry, 30) == std::nullopt);
  CHECK(expiry_warning(days_before(7), kExpiry, 30) == 7);
  CHECK(expiry_warning(days_before(6), kExpiry, 7) == std::nullopt);
  CHECK(expiry_warning(days_before(0), kExpiry, 1) == 0);
  CHECK(expiry_warning(kExpiry + hours(1), kExpiry, 0) == std::nullopt);
}

TEST_CASE("serving certificate: warns once a threshold, and anew for a new certificate", "[tls]") {
  LogLines log;
  const KeyPair ca = test_ca();
  const KeyPair first = test_serving(ca);
  ServingCertificate serving(ServerContext::create(to_pem(first)).value(), log.logger());
  const SystemTime soon = first.certificate.not_after() - hours(20);
  serving.warn_if_expiring(soon);
  serving.warn_if_expiring(soon);
  CHECK(log.count("expires soon") == 1);
  serving.warn_if_expiring(first.certificate.not_after());
  CHECK(log.count("has expired") == 1);
  REQUIRE(serving.replace(to_pem(test_serving(ca))));
  serving.warn_if_expiring(soon);
  CHECK(log.count("expires soon") == 2);
}

TEST_CASE("serving certificate: a key of another certificate is refused", "[tls]") {
  const KeyPair ca = test_ca();
  const KeyPair one = test_serving(ca);
  const KeyPair two = test_serving(ca);
  const auto mixed = ServerContext::create({one.certificate.pem(), two.key.pem(), ""});
  REQUIRE_FALSE(mixed);
  CHECK(mixed.error().message.find("does not belong") != std::string::npos);
}

TEST_CASE("serving certificate: a client CA that cannot be read is refused", "[tls]") {
  CHECK_FALSE(ServerContext::create(to_pem(test_serving(test_ca()), "nonsense")));
}

TEST_CASE("serving certificate: a failed replacement changes nothing and is logged once", "[tls]") {
  LogLines log;
  const KeyPair ca = test_ca();
  ServingCertificate serving(ServerContext::create(to_pem(test_serving(ca))).value(), log.logger());
  const auto before = serving.context();
  const ServerPem bad{"", "", ""};
  CHECK_FALSE(serving.replace(bad));
  CHECK_FALSE(serving.replace(bad));
  CHECK(serving.context() == before);
  CHECK_FALSE(serving.status());
  CHECK(serving.counts().failed == 2);
  CHECK(log.count("not replaced") == 1);
  CHECK_FALSE(serving.replace({test_serving(ca).certificate.pem(), "", ""}));
  CHECK(log.count("not replaced") == 2);
  CHECK(serving.replace(to_pem(test_serving(ca))));
  CHECK(serving.status());
  CHECK(serving.context() != before);
}

KeyPair serving_at(const KeyPair& ca, SystemTime from, std::chrono::seconds lifetime) {
  return make_serving_certificate(ca, {"localhost"}, {from, lifetime}).value();
}

struct ThreeDays {
  SystemTime now = std::chrono::system_clock::now();
  KeyPair ca = make_ca("test-ca", {now - hours(24), hours(24 * 30)}).value();
  KeyPair good = serving_at(ca, now, hours(24));
  KeyPair expired = serving_at(ca, now - hours(20), hours(10));
  KeyPair early = serving_at(ca, now + hours(10), hours(24));
};

TEST_CASE("serving certificate: an expired one does not replace one that is valid", "[tls]") {
  LogLines log;
  const ThreeDays days;
  ServingCertificate serving(ServerContext::create(to_pem(days.good)).value(), log.logger());
  const auto before = serving.context();
  const auto refused = serving.replace(to_pem(days.expired), days.now);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("has expired on 2") != std::string::npos);
  CHECK(serving.context() == before);
  CHECK_FALSE(serving.status());
  CHECK(serving.counts().failed == 1);
}

TEST_CASE("serving certificate: an expired one takes the place of an expired one", "[tls]") {
  const ThreeDays days;
  ServingCertificate serving(ServerContext::create(to_pem(days.expired)).value(),
                             base::Logger::silent());
  const KeyPair other = serving_at(days.ca, days.now - hours(20), hours(12));
  CHECK_FALSE(serving.valid(days.now));
  CHECK(serving.replace(to_pem(other), days.now));
  CHECK(serving.replace(to_pem(days.good), days.now));
  CHECK(serving.valid(days.now));
}

TEST_CASE("serving certificate: one that is not valid yet waits until it is", "[tls]") {
  const ThreeDays days;
  ServingCertificate serving(ServerContext::create(to_pem(days.good)).value(),
                             base::Logger::silent());
  const auto served_now = [&] { return serving.context()->certificate().fingerprint(); };
  REQUIRE_FALSE(serving.replace(to_pem(days.early), days.now));
  serving.warn_if_expiring(days.now);
  CHECK(served_now() == days.good.certificate.fingerprint());
  serving.warn_if_expiring(days.early.certificate.not_before());
  CHECK(served_now() == days.early.certificate.fingerprint());
  CHECK(serving.status());
}

TEST_CASE("serving certificate: what came after the waiting one is not undone by it", "[tls]") {
  const ThreeDays days;
  ServingCertificate serving(ServerContext::create(to_pem(days.good)).value(),
                             base::Logger::silent());
  REQUIRE_FALSE(serving.replace(to_pem(days.early), days.now));
  const KeyPair newer = serving_at(days.ca, days.now, hours(40));
  REQUIRE(serving.replace(to_pem(newer), days.now));
  serving.warn_if_expiring(days.early.certificate.not_before());
  CHECK(serving.context()->certificate().fingerprint() == newer.certificate.fingerprint());
}

TEST_CASE("serving certificate: new client CAs stay over a new certificate", "[tls]") {
  const KeyPair ca = test_ca();
  const std::string client_ca = test_ca("clients").certificate.pem();
  const auto serving =
      ServingCertificate::create(to_pem(test_serving(ca), client_ca), base::Logger::silent());
  REQUIRE(serving);
  CHECK_FALSE(serving.value()->replace_client_ca("nonsense"));
  CHECK_FALSE(serving.value()->status());
  const auto before = serving.value()->context();
  REQUIRE(serving.value()->replace_client_ca(test_ca("others").certificate.pem()));
  CHECK(serving.value()->context() != before);
  CHECK(serving.value()->context()->certificate().fingerprint() ==
        before->certificate().fingerprint());
  // The caller still has the old client CAs in hand, even unreadable ones.
  CHECK(serving.value()->replace(to_pem(test_serving(ca), "nonsense")));
}

/// A folder with tls.crt and tls.key in it.
class PairOnDisk {
 public:
  explicit PairOnDisk(const KeyPair& pair) { put(pair); }

  void put(const KeyPair& pair) {
    folder.replace("tls.crt", pair.certificate.pem());
    folder.replace("tls.key", pair.key.pem());
  }

  [[nodiscard]] CertificatePaths paths() const {
    return {folder.file("tls.crt"), folder.file("tls.key"), ""};
  }

  TempDir folder;
};

std::string served(CertificateFiles& files) {
  return files.certificate().context()->certificate().fingerprint();
}

TEST_CASE("certificate files: a new pair is served soon", "[tls]") {
  const KeyPair ca = test_ca();
  PairOnDisk disk(test_serving(ca));
  const auto files = CertificateFiles::open(disk.paths(), base::Logger::silent());
  REQUIRE(files);
  const KeyPair renewed = test_serving(ca);
  disk.put(renewed);
  CHECK(eventually([&] { return served(*files.value()) == renewed.certificate.fingerprint(); }));
}

TEST_CASE("certificate files: a half-changed pair keeps the last good one", "[tls]") {
  LogLines log;
  const KeyPair ca = test_ca();
  const KeyPair first = test_serving(ca);
  PairOnDisk disk(first);
  const auto files = CertificateFiles::open(disk.paths(), log.logger());
  REQUIRE(files);
  const KeyPair renewed = test_serving(ca);
  disk.folder.replace("tls.crt", renewed.certificate.pem());
  REQUIRE(eventually([&] { return files.value()->certificate().counts().failed > 0; }));
  CHECK(served(*files.value()) == first.certificate.fingerprint());
  CHECK(log.count("does not belong") == 1);
  disk.folder.replace("tls.key", renewed.key.pem());
  CHECK(eventually([&] { return served(*files.value()) == renewed.certificate.fingerprint(); }));
}

TEST_CASE("certificate files: a reload on demand reads them again", "[tls]") {
  PairOnDisk disk(test_serving(test_ca()));
  const auto files = CertificateFiles::open(disk.paths(), base::Logger::silent());
  REQUIRE(files);
  files.value()->reload_now();
  CHECK(eventually([&] { return files.value()->certificate().counts().loaded == 2; }));
}

TEST_CASE("certificate files: what cannot be served at the start is an error", "[tls]") {
  const PairOnDisk disk(test_serving(test_ca()));
  CertificatePaths paths = disk.paths();
  paths.key = disk.folder.file("none");
  const auto missing = CertificateFiles::open(paths, base::Logger::silent());
  REQUIRE_FALSE(missing);
  CHECK(missing.error().message.find("none") != std::string::npos);
  paths = disk.paths();
  disk.folder.write("ca.crt", "");
  paths.client_ca = disk.folder.file("ca.crt");
  CHECK_FALSE(CertificateFiles::open(paths, base::Logger::silent()));
}

}  // namespace
}  // namespace injector::tls
