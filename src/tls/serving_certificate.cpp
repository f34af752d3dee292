#include "tls/serving_certificate.h"

#include <array>
#include <ctime>
#include <utility>

namespace injector::tls {
namespace {

using base::Result;

std::int64_t days_until(SystemTime now, SystemTime then) {
  return std::chrono::duration_cast<std::chrono::hours>(then - now).count() / 24;
}

std::string date_text(SystemTime time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  std::array<char, 32> text{};
  if (::gmtime_r(&seconds, &parts) == nullptr ||
      std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts) == 0) {
    return "an unknown time";
  }
  return text.data();
}

Result<void> valid_at(const Certificate& certificate, SystemTime now) {
  if (now < certificate.not_before()) {
    return base::invalid("the certificate is not valid before " +
                         date_text(certificate.not_before()));
  }
  if (now >= certificate.not_after()) {
    return base::invalid("the certificate has expired on " + date_text(certificate.not_after()));
  }
  return {};
}

std::vector<std::string> watched(const CertificatePaths& paths) {
  std::vector<std::string> list{paths.certificate, paths.key};
  if (!paths.client_ca.empty()) {
    list.push_back(paths.client_ca);
  }
  return list;
}

Result<ServerPem> to_pem(const base::FileSnapshot& files) {
  for (const auto& file : files) {
    if (!file) {
      return file.error();
    }
  }
  // A client CA file that is there but empty must not switch the check off.
  if (files.size() > 2 && files[2].value().empty()) {
    return base::invalid("client CA: the file is empty");
  }
  return ServerPem{files[0].value(), files[1].value(), files.size() > 2 ? files[2].value() : ""};
}

}  // namespace

std::optional<int> expiry_warning(SystemTime now, SystemTime not_after,
                                  std::optional<int> last_warned) {
  constexpr std::array<int, 4> kDays{0, 1, 7, 30};  // The most urgent first.
  for (const int days : kDays) {
    if (now < not_after - std::chrono::hours(24) * days) {
      continue;
    }
    const bool told = last_warned.has_value() && *last_warned <= days;
    return told ? std::nullopt : std::optional(days);
  }
  return std::nullopt;
}

Result<std::unique_ptr<ServingCertificate>> ServingCertificate::create(const ServerPem& pem,
                                                                       base::Logger log) {
  INJ_ASSIGN(auto context, ServerContext::create(pem));
  auto serving = std::make_unique<ServingCertificate>(std::move(context), std::move(log));
  serving->remember(pem);
  return serving;
}

ServingCertificate::ServingCertificate(std::shared_ptr<const ServerContext> first, base::Logger log)
    : context_(std::move(first)),
      counts_{1, 0},
      log_(std::move(log)) {}

std::shared_ptr<const ServerContext> ServingCertificate::context() const {
  const base::MutexLock lock(mutex_);
  return context_;
}

void ServingCertificate::remember(const ServerPem& pem) {
  const base::MutexLock lock(mutex_);
  pem_ = pem;
}

ServerPem ServingCertificate::with_own_client_ca(ServerPem pem) const {
  const base::MutexLock lock(mutex_);
  if (client_ca_) {
    pem.client_ca = *client_ca_;
  }
  return pem;
}

Result<void> ServingCertificate::replace(const ServerPem& pem, SystemTime now) {
  const ServerPem wanted = with_own_client_ca(pem);
  auto fresh = ServerContext::create(wanted);
  if (!fresh) {
    report_failure(fresh.error());
    return fresh.error();
  }
  const Certificate& certificate = fresh.value()->certificate();
  const auto usable = valid_at(certificate, now);
  if (!usable && valid(now)) {
    {
      const base::MutexLock lock(mutex_);
      waiting_ = now < certificate.not_before() ? std::optional(wanted) : std::nullopt;
    }
    report_failure(usable.error());
    return usable;
  }
  put_in_service(std::move(fresh).value(), wanted);
  return {};
}

Result<void> ServingCertificate::replace_stand_in(const ServerPem& pem) {
  const ServerPem wanted = with_own_client_ca(pem);
  auto fresh = ServerContext::create(wanted);
  if (!fresh) {
    report_failure(fresh.error());
    return fresh.error();
  }
  put_in_service(std::move(fresh).value(), wanted);
  return {};
}

Result<void> ServingCertificate::replace_client_ca(const std::string& client_ca) {
  ServerPem wanted;
  {
    const base::MutexLock lock(mutex_);
    wanted = pem_;
  }
  wanted.client_ca = client_ca;
  auto fresh = ServerContext::create(wanted);
  if (!fresh) {
    report_failure(fresh.error());
    return fresh.error();
  }
  {
    const base::MutexLock lock(mutex_);
    client_ca_ = client_ca;
  }
  put_in_service(std::move(fresh).value(), wanted);
  return {};
}

void ServingCertificate::put_in_service(std::shared_ptr<const ServerContext> context,
                                        const ServerPem& pem) {
  const Certificate certificate = context->certificate();
  {
    const base::MutexLock lock(mutex_);
    context_ = std::move(context);
    pem_ = pem;
    waiting_.reset();
    ++counts_.loaded;
    failure_.reset();
    last_warned_.reset();
  }
  log_.info("serving certificate loaded",
            {{"subject", certificate.common_name()},
             {"fingerprint", certificate.fingerprint()},
             {"days_left", days_until(std::chrono::system_clock::now(), certificate.not_after())}});
}

void ServingCertificate::report_failure(const base::Error& error) {
  bool is_new = false;
  {
    const base::MutexLock lock(mutex_);
    ++counts_.failed;
    is_new = !failure_ || failure_->message != error.message;
    failure_ = error;
  }
  if (is_new) {
    log_.error("serving certificate not replaced, the last good one stays",
               {{"error", error.message}});
  }
}

ServingCertificate::Counts ServingCertificate::counts() const {
  const base::MutexLock lock(mutex_);
  return counts_;
}

Result<void> ServingCertificate::status() const {
  const base::MutexLock lock(mutex_);
  return failure_ ? Result<void>(*failure_) : Result<void>();
}

Result<void> ServingCertificate::valid(SystemTime now) const {
  return valid_at(context()->certificate(), now);
}

void ServingCertificate::take_up_waiting(SystemTime now) {
  std::optional<ServerPem> waiting;
  {
    const base::MutexLock lock(mutex_);
    waiting = waiting_;
  }
  if (!waiting) {
    return;
  }
  const auto certificate = Certificate::parse(waiting->certificate);
  const bool due = certificate && now >= certificate.value().not_before();
  if (due || !valid(now)) {
    // Both outcomes are logged and counted there.
    static_cast<void>(replace_stand_in(*waiting));
  }
}

void ServingCertificate::warn_if_expiring(SystemTime now) {
  take_up_waiting(now);
  std::shared_ptr<const ServerContext> context;
  std::optional<int> warning;
  {
    const base::MutexLock lock(mutex_);
    context = context_;
    warning = expiry_warning(now, context_->certificate().not_after(), last_warned_);
    last_warned_ = warning.has_value() ? warning : last_warned_;
  }
  if (!warning) {
    return;
  }
  log_.warn(*warning == 0 ? "serving certificate has expired" : "serving certificate expires soon",
            {{"subject", context->certificate().common_name()},
             {"days_left", days_until(now, context->certificate().not_after())}});
}

Result<std::unique_ptr<CertificateFiles>> CertificateFiles::open(const CertificatePaths& paths,
                                                                 base::Logger log) {
  base::FileSnapshot files = base::read_files(watched(paths));
  INJ_ASSIGN(auto pem, to_pem(files));
  auto context = ServerContext::create(pem);
  if (!context) {
    return base::annotate(context.error(), paths.certificate);
  }
  return std::make_unique<CertificateFiles>(paths, std::move(files), std::move(context).value(),
                                            std::move(log));
}

CertificateFiles::CertificateFiles(const CertificatePaths& paths, base::FileSnapshot seen,
                                   std::shared_ptr<const ServerContext> first, base::Logger log)
    : certificate_(std::move(first), std::move(log)),
      watch_(watched(paths), std::move(seen),
             [this](const base::FileSnapshot& files) { load(files); }) {}

void CertificateFiles::load(const base::FileSnapshot& files) {
  auto pem = to_pem(files);
  if (!pem) {
    certificate_.report_failure(pem.error());
    return;
  }
  // Both outcomes are logged and counted there.
  static_cast<void>(certificate_.replace(pem.value()));
}

}  // namespace injector::tls
