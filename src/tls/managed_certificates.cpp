#include "tls/managed_certificates.h"

#include <algorithm>
#include <utility>

#include <openssl/x509v3.h>

namespace injector::tls {
namespace {

using base::Result;

constexpr const char* kAuthorityName = "envoy-initializer CA";

/// Content as far as it can be used. With `key` there is a first authority, and it is that one's.
struct Draft {
  std::vector<Certificate> authorities;
  std::optional<PrivateKey> key;
  std::optional<KeyPair> serving;  // By one of the authorities.
  std::vector<std::string> changes;
};

bool contains(const std::vector<Certificate>& bundle, const Certificate& wanted) {
  return std::any_of(bundle.begin(), bundle.end(), [&wanted](const Certificate& certificate) {
    return X509_cmp(certificate.handle(), wanted.handle()) == 0;
  });
}

const Certificate* issuer_of(const Certificate& certificate,
                             const std::vector<Certificate>& authorities) {
  const auto found = std::find_if(
      authorities.begin(), authorities.end(),
      [&certificate](const Certificate& authority) { return certificate.issued_by(authority); });
  return found == authorities.end() ? nullptr : &*found;
}

/// OpenSSL compares, so that case and the spellings of an address do not matter.
bool covers(const Certificate& certificate, const std::string& name) {
  return X509_check_host(certificate.handle(), name.data(), name.size(), 0, nullptr) == 1 ||
         X509_check_ip_asc(certificate.handle(), name.c_str(), 0) == 1;
}

bool covers_all(const Certificate& certificate, const std::vector<std::string>& names) {
  return std::all_of(names.begin(), names.end(),
                     [&certificate](const std::string& name) { return covers(certificate, name); });
}

Result<PrivateKey> parse_key(const std::string& pem, const Certificate& owner) {
  auto key = PrivateKey::parse(pem);
  if (key && !key.value().belongs_to(owner)) {
    return base::invalid("does not belong to its certificate");
  }
  return key;
}

Result<std::vector<Certificate>> parse_authorities(const std::string& pem, SystemTime now) {
  auto bundle = parse_bundle(pem);
  if (!bundle) {
    return bundle;
  }
  const Certificate& newest = bundle.value().front();
  if (!newest.is_ca()) {
    return base::invalid("the first certificate is no CA");
  }
  if (newest.not_after() <= now) {
    return base::invalid("the newest CA has expired");
  }
  return merge_bundles(bundle.value(), {}, now);
}

Result<KeyPair> parse_serving(const StoredCertificates& stored,
                              const std::vector<Certificate>& authorities, SystemTime now) {
  auto certificate = Certificate::parse(stored.tls_crt);
  if (!certificate) {
    return base::annotate(certificate.error(), "tls.crt");
  }
  if (certificate.value().not_after() <= now) {
    return base::invalid("tls.crt: has expired");
  }
  if (issuer_of(certificate.value(), authorities) == nullptr) {
    return base::invalid("tls.crt: signed by none of ca.crt");
  }
  auto key = parse_key(stored.tls_key, certificate.value());
  if (!key) {
    return base::annotate(key.error(), "tls.key");
  }
  return KeyPair{std::move(certificate).value(), std::move(key).value()};
}

/// What is usable of `stored`; what is not stands in `changes`.
Draft read(const StoredCertificates& stored, SystemTime now) {
  Draft draft;
  auto authorities = parse_authorities(stored.ca_crt, now);
  if (!authorities) {
    draft.changes.push_back(base::annotate(authorities.error(), "ca.crt").message);
    return draft;
  }
  draft.authorities = std::move(authorities).value();
  if (auto key = parse_key(stored.ca_key, draft.authorities.front()); key) {
    draft.key = std::move(key).value();
  } else {
    draft.changes.push_back(base::annotate(key.error(), "ca.key").message);
  }
  if (auto serving = parse_serving(stored, draft.authorities, now); serving) {
    draft.serving = std::move(serving).value();
  } else {
    draft.changes.push_back(serving.error().message);
  }
  return draft;
}

std::vector<Certificate> only(std::vector<Certificate> bundle,
                              const std::vector<Certificate>& allowed) {
  bundle.erase(
      std::remove_if(bundle.begin(), bundle.end(),
                     [&allowed](const Certificate& one) { return !contains(allowed, one); }),
      bundle.end());
  return bundle;
}

/// The Secret's content; where it is lost or broken, what was remembered of it. A CA that came
/// since then stays if it is already trusted: somebody may serve under it.
Draft recover(const CertificateFacts& certificate_facts) {
  Draft draft =
      certificate_facts.stored ? read(*certificate_facts.stored, certificate_facts.now) : Draft{};
  if (!certificate_facts.stored) {
    draft.changes.emplace_back("there is no Secret");
  }
  if (draft.changes.empty() || !certificate_facts.remembered) {
    return draft;
  }
  Draft old = read(*certificate_facts.remembered, certificate_facts.now);
  if (!old.changes.empty()) {
    return draft;
  }
  old.authorities = merge_bundles(
      old.authorities, only(draft.authorities, certificate_facts.trusted), certificate_facts.now);
  old.changes = std::move(draft.changes);
  return old;
}

Result<void> renew_authority(const ManagedSettings& settings,
                             const CertificateFacts& certificate_facts, Draft& draft) {
  if (draft.key && certificate_facts.now < renewal_time(draft.authorities.front())) {
    return {};
  }
  INJ_ASSIGN(auto ca, make_ca(kAuthorityName, {certificate_facts.now, settings.lifetime}));
  draft.authorities =
      merge_bundles({ca.certificate}, draft.key ? draft.authorities : certificate_facts.trusted,
                    certificate_facts.now);
  draft.key = std::move(ca).key;
  draft.changes.emplace_back("new CA");
  return {};
}

/// The certificate we serve ourselves must stay trusted until we serve another.
void keep_in_service(const CertificateFacts& certificate_facts, Draft& draft) {
  draft.authorities =
      merge_bundles(draft.authorities, certificate_facts.in_service, certificate_facts.now);
  if (draft.authorities.size() > kMaxAuthorities) {
    draft.authorities.erase(draft.authorities.begin() + kMaxAuthorities, draft.authorities.end());
  }
  if (draft.serving && issuer_of(draft.serving->certificate, draft.authorities) == nullptr) {
    draft.serving.reset();
  }
}

bool serving_is_current(const ManagedSettings& settings, const Draft& draft) {
  return draft.serving->certificate.issued_by(draft.authorities.front()) &&
         covers_all(draft.serving->certificate, settings.names);
}

std::vector<std::string> names_to_issue(const ManagedSettings& settings, const Draft& draft) {
  std::vector<std::string> names = settings.names;
  if (!draft.serving || !draft.serving->certificate.issued_by(draft.authorities.front())) {
    return names;
  }
  for (const std::string& name : draft.serving->certificate.names()) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      names.push_back(name);
    }
  }
  return names;
}

Result<void> renew_serving(const ManagedSettings& settings,
                           const CertificateFacts& certificate_facts, Draft& draft) {
  const bool wait =
      draft.serving && !contains(certificate_facts.settled, draft.authorities.front());
  if (wait || (draft.serving && serving_is_current(settings, draft))) {
    return {};
  }
  INJ_ASSIGN(auto pair, make_serving_certificate({draft.authorities.front(), *draft.key},
                                                 names_to_issue(settings, draft),
                                                 {certificate_facts.now, settings.lifetime}));
  draft.serving = std::move(pair);
  draft.changes.emplace_back("new serving certificate");
  return {};
}

CertificatePlan finish(Draft draft, const std::optional<StoredCertificates>& stored) {
  const Certificate serving = draft.serving->certificate;
  CertificatePlan plan{
      {bundle_pem(draft.authorities), draft.key->pem(), serving.pem(), draft.serving->key.pem()},
      draft.authorities,
      serving,
      *issuer_of(serving, draft.authorities),
      std::move(draft.changes)};
  if (stored == plan.content) {
    plan.changes.clear();
  } else if (plan.changes.empty()) {
    plan.changes.emplace_back("the set of trusted CAs");
  }
  return plan;
}

}  // namespace

std::vector<std::string> service_names(const std::string& service, const std::string& name_space) {
  const std::string qualified = service + "." + name_space;
  return {qualified + ".svc", qualified + ".svc.cluster.local", qualified, service};
}

SystemTime renewal_time(const Certificate& ca) {
  const SystemTime made = ca.not_before() + kClockSkew;
  return made + (ca.not_after() - made) * 2 / 3;
}

Result<CertificatePlan> plan_certificates(const ManagedSettings& settings,
                                          const CertificateFacts& certificate_facts) {
  Draft draft = recover(certificate_facts);
  if (auto renewed = renew_authority(settings, certificate_facts, draft); !renewed) {
    return base::annotate(renewed.error(), "make a CA");
  }
  keep_in_service(certificate_facts, draft);
  if (auto renewed = renew_serving(settings, certificate_facts, draft); !renewed) {
    return base::annotate(renewed.error(), "make a serving certificate");
  }
  return finish(std::move(draft), certificate_facts.stored);
}

}  // namespace injector::tls
