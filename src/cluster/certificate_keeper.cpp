#include "cluster/certificate_keeper.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cluster/certificate_objects.h"

namespace injector::cluster {
namespace {

using base::ErrorCode;
using base::Json;
using base::Result;
using namespace std::chrono_literals;

constexpr int kAttempts = 5;  // At one step, where other replicas get in first.
const kube::WriteOptions kWrite{.field_manager = "envoy-initializer"};
const kube::Resource kValidatingWebhookConfigurations{"admissionregistration.k8s.io", "v1",
                                                      "validatingwebhookconfigurations",
                                                      "ValidatingWebhookConfiguration", false};

/// Somebody was faster.
bool lost_race(const base::Error& error) {
  return error.code == ErrorCode::Conflict || error.code == ErrorCode::AlreadyExists;
}

}  // namespace

base::Duration poll_interval(std::chrono::seconds lifetime) {
  return std::clamp<base::Duration>(base::Duration(lifetime) / 60, 250ms, 5s);
}

base::Duration settle_time(std::chrono::seconds lifetime) {
  return std::clamp<base::Duration>(base::Duration(lifetime) / 100, 1s, 1min);
}

CertificateKeeper::CertificateKeeper(KeeperOptions options, kube::RestClient& client,
                                     tls::ServingCertificate& certificate,
                                     const runtime::LoopContext& loop_context, WallClock now)
    : options_(std::move(options)),
      client_(client),
      certificate_(certificate),
      loop_context_(loop_context),
      now_(std::move(now)),
      last_(base::Error{ErrorCode::Unavailable, "not yet looked at"}) {}

void CertificateKeeper::run(const std::stop_token& stop) {
  do {
    static_cast<void>(step(stop));  // Reports by itself.
  } while (loop_context_.sleeper.sleep(options_.poll, stop));
}

Result<void> CertificateKeeper::step(const std::stop_token& stop) {
  Result<void> result;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    result = try_step(stop);
    if (result || !lost_race(result.error())) {
      break;
    }
  }
  report(result);
  return result;
}

Result<void> CertificateKeeper::try_step(const std::stop_token& stop) {
  auto configuration = client_.get(
      {kube::kMutatingWebhookConfigurations, "", options_.webhook_configuration, ""}, stop);
  auto validating =
      client_.get({kValidatingWebhookConfigurations, "", options_.webhook_configuration, ""}, stop);
  auto trusted =
      configuration ? trusted_by(configuration.value()) : std::vector<tls::Certificate>();
  forget_all_but(trusted);
  auto secret = read_secret(stop);
  if (!secret) {
    return base::annotate(std::move(secret).error(), "read the certificates");
  }
  INJ_ASSIGN(const auto plan,
             tls::plan_certificates(options_.certificates,
                                    certificate_facts(secret.value(), std::move(trusted))));
  if (auto stored = store(std::move(secret).value(), plan, stop); !stored) {
    return stored;
  }
  auto published = publish(std::move(configuration), plan, stop);
  if (published) {
    published = publish_validating(std::move(validating), plan, stop);
  }
  if (auto served = serve(plan); !served) {
    return served;
  }
  return published;
}

Result<std::optional<Json>> CertificateKeeper::read_secret(const std::stop_token& stop) {
  auto secret = client_.get({kube::kSecrets, options_.name_space, options_.secret, ""}, stop);
  if (secret) {
    return std::optional(std::move(secret).value());
  }
  if (secret.error().code == ErrorCode::NotFound) {
    return std::optional<Json>();
  }
  return std::move(secret).error();
}

tls::CertificateFacts CertificateKeeper::certificate_facts(
    const std::optional<Json>& secret, std::vector<tls::Certificate> trusted) const {
  tls::CertificateFacts seen{
      .now = now_(), .remembered = remembered_, .trusted = std::move(trusted)};
  if (secret) {
    seen.stored = content_of(*secret);
  }
  std::copy_if(seen.trusted.begin(), seen.trusted.end(), std::back_inserter(seen.settled),
               [this](const tls::Certificate& authority) { return settled(authority); });
  if (in_service_) {
    seen.in_service.push_back(in_service_->issuer);
  }
  return seen;
}

Result<void> CertificateKeeper::store(std::optional<Json> secret, const tls::CertificatePlan& plan,
                                      const std::stop_token& stop) {
  if (!plan.changes.empty()) {
    const kube::Target target{kube::kSecrets, options_.name_space, "", ""};
    Json object = secret ? *std::move(secret) : new_secret(options_.name_space, options_.secret);
    set_content(object, plan.content);
    const auto written =
        object.contains("/metadata/resourceVersion"_json_pointer)
            ? client_.update({target.resource, target.name_space, options_.secret, ""}, object,
                             kWrite, stop)
            : client_.create_object(target, object, kWrite, stop);
    if (!written) {
      return base::annotate(written.error(), "write the certificates");
    }
    loop_context_.log.info("managed certificates written",
                           {{"secret", options_.name_space + "/" + options_.secret},
                            {"reason", fmt::format("{}", fmt::join(plan.changes, ", "))}});
  }
  remembered_ = plan.content;
  return {};
}

Result<void> CertificateKeeper::publish(Result<Json> configuration,
                                        const tls::CertificatePlan& plan,
                                        const std::stop_token& stop) {
  if (!configuration) {
    return base::annotate(std::move(configuration).error(), "read the webhook configuration");
  }
  auto written = write_bundle(kube::kMutatingWebhookConfigurations,
                              std::move(configuration).value(), plan, stop);
  if (!written) {
    return written;
  }
  for (const tls::Certificate& authority : plan.authorities) {
    trusted_since_.emplace(authority.fingerprint(), loop_context_.clock.now());
  }
  return {};
}

// Fails only for a lost race, which is worth another try.
Result<void> CertificateKeeper::publish_validating(Result<Json> configuration,
                                                   const tls::CertificatePlan& plan,
                                                   const std::stop_token& stop) {
  if (!configuration) {
    note_validating(configuration.error());
    return {};
  }
  auto written =
      write_bundle(kValidatingWebhookConfigurations, std::move(configuration).value(), plan, stop);
  if (!written && lost_race(written.error())) {
    return written;
  }
  note_validating(written ? base::Error{} : written.error());
  return {};
}

// It may be missing, and there is nothing to say of that.
void CertificateKeeper::note_validating(const base::Error& error) {
  const bool said = error.message.empty() || error.message == validating_failure_ ||
                    error.code == ErrorCode::NotFound || error.code == ErrorCode::Cancelled;
  validating_failure_ = error.message;
  if (!said) {
    loop_context_.log.warn("validating webhook configuration not kept", {{"error", error.message}});
  }
}

Result<void> CertificateKeeper::write_bundle(const kube::Resource& kind, Json configuration,
                                             const tls::CertificatePlan& plan,
                                             const std::stop_token& stop) {
  if (!set_bundle(configuration, plan.content.ca_crt)) {
    return {};
  }
  auto written =
      client_.update({kind, "", options_.webhook_configuration, ""}, configuration, kWrite, stop);
  if (!written) {
    return base::annotate(std::move(written).error(), "write the caBundle");
  }
  loop_context_.log.info("caBundle written", {{"kind", kind.kind},
                                              {"configuration", options_.webhook_configuration},
                                              {"authorities", plan.authorities.size()}});
  return {};
}

Result<void> CertificateKeeper::serve(const tls::CertificatePlan& plan) {
  const bool same =
      in_service_ && in_service_->certificate.fingerprint() == plan.serving.fingerprint();
  const bool can_wait = in_service_ && in_service_->certificate.not_after() > now_();
  if (!same && (!can_wait || settled(plan.issuer))) {
    const tls::ServerPem pem{plan.content.tls_crt, plan.content.tls_key, options_.client_ca};
    if (auto replaced =
            in_service_ ? certificate_.replace(pem, now_()) : certificate_.replace_stand_in(pem);
        !replaced) {
      return replaced;
    }
    in_service_ = {plan.serving, plan.issuer};
  }
  return {};
}

bool CertificateKeeper::settled(const tls::Certificate& authority) const {
  const auto since = trusted_since_.find(authority.fingerprint());
  return since != trusted_since_.end() &&
         loop_context_.clock.now() - since->second >= options_.settle;
}

void CertificateKeeper::forget_all_but(const std::vector<tls::Certificate>& trusted) {
  std::map<std::string, base::TimePoint> still;
  for (const tls::Certificate& authority : trusted) {
    const auto since = trusted_since_.find(authority.fingerprint());
    if (since != trusted_since_.end()) {
      still.insert(*since);
    }
  }
  trusted_since_ = std::move(still);
}

void CertificateKeeper::report(const Result<void>& result) {
  const bool served = in_service_ && trusted_since_.count(in_service_->issuer.fingerprint()) != 0;
  bool is_new = false;
  {
    const base::MutexLock lock(mutex_);
    is_new = !result && (last_ || last_.error().message != result.error().message);
    ready_ = ready_ || (result && served);
    last_ = result;
  }
  if (is_new && result.error().code != ErrorCode::Cancelled) {
    loop_context_.log.error("managed certificates: step failed",
                            {{"error", result.error().message}});
  }
}

Result<void> CertificateKeeper::ready() const {
  const base::MutexLock lock(mutex_);
  if (ready_) {
    return {};
  }
  return last_ ? base::Error{ErrorCode::Unavailable, "the caBundle is not in place"} : last_;
}

Result<void> CertificateKeeper::status() const {
  const base::MutexLock lock(mutex_);
  return last_;
}

}  // namespace injector::cluster
