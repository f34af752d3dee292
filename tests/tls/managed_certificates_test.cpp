#include "tls/managed_certificates.h"

#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace injector::tls {
namespace {

using namespace std::chrono_literals;

const SystemTime kStart = std::chrono::system_clock::from_time_t(1'800'000'000);
constexpr auto kLifetime = 90h;

const ManagedSettings kSettings{service_names("injector", "mesh"), kLifetime};

CertificatePlan plan(const CertificateFacts& certificate_facts,
                     const ManagedSettings& settings = kSettings) {
  auto made = plan_certificates(settings, certificate_facts);
  if (!made) {
    FAIL(made.error().message);
  }
  return std::move(made).value();
}

CertificatePlan first_start() {
  return plan({.now = kStart});
}

/// A replica that agrees with the Secret and whose bundle has arrived everywhere.
CertificateFacts at_rest(const CertificatePlan& before, SystemTime now) {
  return {.now = now,
          .stored = before.content,
          .remembered = before.content,
          .trusted = before.authorities,
          .settled = before.authorities,
          .in_service = {before.issuer}};
}

bool same(const Certificate& left, const Certificate& right) {
  return left.fingerprint() == right.fingerprint();
}

/// What every plan promises, whatever it came from.
void check_consistent(const CertificatePlan& made, SystemTime now) {
  const auto bundle = parse_bundle(made.content.ca_crt).value();
  const Certificate leaf = Certificate::parse(made.content.tls_crt).value();
  CHECK(PrivateKey::parse(made.content.ca_key).value().belongs_to(bundle.front()));
  CHECK(PrivateKey::parse(made.content.tls_key).value().belongs_to(leaf));
  CHECK(leaf.issued_by(made.issuer));
  CHECK(std::any_of(bundle.begin(), bundle.end(),
                    [&](const Certificate& ca) { return same(ca, made.issuer); }));
  CHECK(leaf.not_after() > now);
  CHECK(leaf.not_after() <= made.issuer.not_after());
  CHECK(bundle.size() <= kMaxAuthorities);
}

TEST_CASE("managed certificates: a first start makes everything at once", "[tls]") {
  const CertificatePlan made = first_start();
  check_consistent(made, kStart);
  CHECK_FALSE(made.changes.empty());
  CHECK(made.authorities.size() == 1);
  CHECK(made.serving.names() == std::vector<std::string>{"injector.mesh.svc",
                                                         "injector.mesh.svc.cluster.local",
                                                         "injector.mesh", "injector"});
  CHECK(made.serving.not_after() == kStart + kLifetime);
}

TEST_CASE("managed certificates: a first start goes on trusting what is trusted", "[tls]") {
  const KeyPair other = make_ca("other", {kStart, 48h}).value();
  const KeyPair expired = make_ca("expired", {kStart - 48h, 1h}).value();
  const CertificatePlan made =
      plan({.now = kStart, .trusted = {other.certificate, expired.certificate}});
  REQUIRE(made.authorities.size() == 2);
  CHECK(same(made.authorities[1], other.certificate));
  CHECK(same(made.issuer, made.authorities[0]));
}

TEST_CASE("managed certificates: a replica adopts what another one made", "[tls]") {
  const CertificatePlan first = first_start();
  const CertificatePlan second = plan({.now = kStart + 1h, .stored = first.content});
  CHECK(second.changes.empty());
  CHECK(second.content == first.content);
  CHECK(same(second.serving, first.serving));
}

TEST_CASE("managed certificates: what a replica with a fast clock makes is valid for the others",
          "[tls]") {
  const CertificatePlan fast = plan({.now = kStart + 30min});
  for (const Certificate& one : {fast.serving, fast.authorities.front()}) {
    CHECK(one.not_before() <= kStart);
    CHECK(one.not_after() > kStart);
  }
  const CertificatePlan adopted = plan({.now = kStart, .stored = fast.content});
  CHECK(adopted.changes.empty());
  CHECK(renewal_time(fast.authorities.front()) == kStart + 30min + kLifetime * 2 / 3);
}

TEST_CASE("managed certificates: nothing changes before two thirds of the life", "[tls]") {
  const CertificatePlan first = first_start();
  CHECK(renewal_time(first.authorities.front()) == kStart + kLifetime * 2 / 3);
  CHECK(plan(at_rest(first, kStart + 60h - 1s)).changes.empty());
  CHECK_FALSE(plan(at_rest(first, kStart + 60h)).changes.empty());
}

TEST_CASE("managed certificates: a rotation publishes the CA before it is served", "[tls]") {
  const CertificatePlan before = first_start();
  const SystemTime due = kStart + 60h;

  const CertificatePlan published = plan(at_rest(before, due));
  check_consistent(published, due);
  REQUIRE(published.authorities.size() == 2);
  CHECK(same(published.authorities[1], before.authorities[0]));
  CHECK(same(published.serving, before.serving));
  CHECK(published.content.tls_key == before.content.tls_key);

  CertificateFacts waiting = at_rest(published, due + 1s);
  waiting.settled = before.authorities;  // The new one is too young.
  CHECK(plan(waiting).changes.empty());

  const CertificatePlan served = plan(at_rest(published, due + 1min));
  check_consistent(served, due + 1min);
  CHECK(same(served.issuer, published.authorities[0]));
  CHECK(served.content.ca_crt == published.content.ca_crt);
  CHECK(plan(at_rest(served, due + 2min)).changes.empty());
}

TEST_CASE("managed certificates: the old CA goes when it has expired, and not before", "[tls]") {
  const CertificatePlan before = first_start();
  const CertificatePlan published = plan(at_rest(before, kStart + 60h));
  const CertificatePlan served = plan(at_rest(published, kStart + 60h + 1min));
  CHECK(plan(at_rest(served, kStart + kLifetime)).changes.empty());
  const CertificatePlan alone = plan(at_rest(served, kStart + kLifetime + 1s));
  CHECK_FALSE(alone.changes.empty());
  REQUIRE(alone.authorities.size() == 1);
  CHECK(same(alone.serving, served.serving));
}

TEST_CASE("managed certificates: after a long sleep everything is made anew", "[tls]") {
  const CertificatePlan before = first_start();
  const SystemTime late = kStart + 2 * kLifetime;
  const CertificatePlan made = plan({.now = late,
                                     .stored = before.content,
                                     .remembered = before.content,
                                     .trusted = before.authorities});
  check_consistent(made, late);
  CHECK(made.authorities.size() == 1);
  CHECK_FALSE(same(made.serving, before.serving));
}

TEST_CASE("managed certificates: a CA that cannot be published serves when it must", "[tls]") {
  const CertificatePlan before = first_start();
  CertificateFacts stuck = at_rest(plan(at_rest(before, kStart + 60h)), kStart + kLifetime + 1s);
  stuck.settled.clear();
  const CertificatePlan made = plan(stuck);
  check_consistent(made, stuck.now);
  CHECK_FALSE(same(made.serving, before.serving));
}

TEST_CASE("managed certificates: a deleted Secret comes back as it was", "[tls]") {
  const CertificatePlan before = first_start();
  CertificateFacts gone = at_rest(before, kStart + 1h);
  gone.stored.reset();
  const CertificatePlan made = plan(gone);
  CHECK_FALSE(made.changes.empty());
  CHECK(made.content == before.content);
}

StoredCertificates broken(const CertificatePlan& good, int way) {
  StoredCertificates content = good.content;
  const CertificatePlan other = first_start();
  switch (way) {
    case 0:
      content = {};
      break;
    case 1:
      content.ca_crt = "no PEM";
      break;
    case 2:
      content.ca_crt = other.content.ca_crt;
      break;
    case 3:
      content.ca_key = other.content.ca_key;
      break;
    case 4:
      content.tls_crt = content.tls_crt.substr(0, content.tls_crt.size() / 2);
      break;
    case 5:
      content.tls_key = other.content.tls_key;
      break;
    case 6:
      content.tls_crt = other.content.tls_crt;
      content.tls_key = other.content.tls_key;
      break;
    case 7:
      content.ca_crt = content.tls_crt;
      content.ca_key = content.tls_key;
      break;
    default:
      content.tls_key.assign(100'000, '\xff');
      break;
  }
  return content;
}

TEST_CASE("managed certificates: broken content is put back by who remembers it", "[tls]") {
  const CertificatePlan before = first_start();
  const int way = GENERATE(range(0, 9));
  CAPTURE(way);
  CertificateFacts certificate_facts = at_rest(before, kStart + 1h);
  certificate_facts.stored = broken(before, way);
  const CertificatePlan made = plan(certificate_facts);
  CHECK_FALSE(made.changes.empty());
  CHECK(made.content == before.content);
}

TEST_CASE("managed certificates: broken content is made whole by who does not", "[tls]") {
  const CertificatePlan before = first_start();
  const int way = GENERATE(range(0, 9));
  CAPTURE(way);
  const SystemTime now = kStart + 1h;
  const CertificatePlan made =
      plan({.now = now, .stored = broken(before, way), .trusted = before.authorities});
  CHECK_FALSE(made.changes.empty());
  check_consistent(made, now);
  // Replicas that serve the lost certificate stay trusted.
  CHECK(before.serving.issued_by(made.authorities.back()));
  CHECK(plan({.now = now, .stored = made.content}).changes.empty());
}

TEST_CASE("managed certificates: only the serving part is made anew if only it is broken",
          "[tls]") {
  const CertificatePlan before = first_start();
  const CertificatePlan made = plan({.now = kStart + 1h, .stored = broken(before, 5)});
  CHECK(made.content.ca_crt == before.content.ca_crt);
  CHECK(made.content.ca_key == before.content.ca_key);
  CHECK_FALSE(same(made.serving, before.serving));
}

TEST_CASE("managed certificates: a CA that others serve under survives a repair", "[tls]") {
  const CertificatePlan before = first_start();
  const CertificatePlan newer = plan(at_rest(before, kStart + 60h));
  CertificateFacts late =
      at_rest(before, kStart + 60h);  // Remembers the state before the rotation.
  late.stored = broken(newer, 5);
  late.trusted = newer.authorities;
  const CertificatePlan made = plan(late);
  check_consistent(made, late.now);
  CHECK(std::any_of(made.authorities.begin(), made.authorities.end(),
                    [&](const Certificate& ca) { return same(ca, newer.authorities[0]); }));
}

TEST_CASE("managed certificates: what a replica serves stays trusted in a foreign Secret",
          "[tls]") {
  const CertificatePlan mine = first_start();
  const CertificatePlan theirs = first_start();
  CertificateFacts certificate_facts = at_rest(mine, kStart + 1h);
  certificate_facts.stored = theirs.content;
  const CertificatePlan made = plan(certificate_facts);
  check_consistent(made, certificate_facts.now);
  REQUIRE(made.authorities.size() == 2);
  CHECK(same(made.authorities[0], theirs.authorities[0]));
  CHECK(same(made.authorities[1], mine.authorities[0]));
  CHECK(same(made.serving, theirs.serving));
}

TEST_CASE("managed certificates: replicas with different names come to rest", "[tls]") {
  const ManagedSettings other{{"injector.mesh.svc", "127.0.0.1", "0:0:0:0:0:0:0:1"}, kLifetime};
  const CertificatePlan first = first_start();
  const CertificatePlan both = plan(at_rest(first, kStart + 1h), other);
  CHECK_FALSE(both.changes.empty());
  CHECK(plan(at_rest(both, kStart + 2h), other).changes.empty());
  CHECK(plan(at_rest(both, kStart + 2h), kSettings).changes.empty());
}

TEST_CASE("managed certificates: a missing name waits until its CA has arrived", "[tls]") {
  const CertificatePlan first = first_start();
  CertificateFacts certificate_facts = at_rest(first, kStart + 1s);
  certificate_facts.settled.clear();
  CHECK(plan(certificate_facts, {{"other"}, kLifetime}).changes.empty());
}

TEST_CASE("managed certificates: the bundle is bounded", "[tls]") {
  std::vector<Certificate> trusted;
  for (int i = 0; i < 12; ++i) {
    trusted.push_back(make_ca("ca " + std::to_string(i), {kStart, 48h}).value().certificate);
  }
  check_consistent(plan({.now = kStart, .trusted = trusted}), kStart);
}

TEST_CASE("managed certificates: settings that make no certificate are an error", "[tls]") {
  CHECK_FALSE(plan_certificates({{"not a name"}, kLifetime}, {.now = kStart}));
  CHECK_FALSE(plan_certificates({{}, kLifetime}, {.now = kStart}));
  CHECK_FALSE(plan_certificates({{"name"}, 0s}, {.now = kStart}));
}

}  // namespace
}  // namespace injector::tls
