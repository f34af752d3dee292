#include "tls/serving_certificate.h"

#include <array>
#include <utility>

namespace injector::tls {
namespace {

using base::Result;

std::int64_t days_until(SystemTime now, SystemTime then) {
  return std::chrono::duration_cast<std::chrono::hours>(then - now).count() / 24;
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
  auto context = ServerContext::create(pem);
  if (!context) {
    return context.error();
  }
  return std::make_unique<ServingCertificate>(std::move(context).value(), std::move(log));
}

ServingCertificate::ServingCertificate(std::shared_ptr<const ServerContext> first, base::Logger log)
    : context_(std::move(first)),
      counts_{1, 0},
      log_(std::move(log)) {}

std::shared_ptr<const ServerContext> ServingCertificate::context() const {
  const base::MutexLock lock(mutex_);
  return context_;
}

Result<void> ServingCertificate::replace(const ServerPem& pem) {
  auto context = ServerContext::create(pem);
  if (!context) {
    report_failure(context.error());
    return context.error();
  }
  const Certificate certificate = context.value()->certificate();
  {
    const base::MutexLock lock(mutex_);
    context_ = std::move(context).value();
    ++counts_.loaded;
    failure_.reset();
    last_warned_.reset();
  }
  log_.info("serving certificate loaded",
            {{"subject", certificate.common_name()},
             {"fingerprint", certificate.fingerprint()},
             {"days_left", days_until(std::chrono::system_clock::now(), certificate.not_after())}});
  return {};
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

void ServingCertificate::warn_if_expiring(SystemTime now) {
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
  auto pem = to_pem(files);
  if (!pem) {
    return pem.error();
  }
  auto context = ServerContext::create(pem.value());
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
