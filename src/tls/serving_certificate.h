// The certificate that new connections are served with, replaceable at any time. Connections that
// exist keep what they started with. A replacement that cannot be used changes nothing: the last
// good certificate stays. Nor does one that has expired take the place of one that is valid; one
// that is not valid yet waits until it is.
//
//   auto files = tls::CertificateFiles::open({"tls.crt", "tls.key", ""}, log);   // watches them
//   http::Server server(options, routes, &files.value()->certificate(), log);
//
// All public functions may be called from any thread.

#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/file_watch.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/result.h"
#include "tls/server_context.h"

namespace injector::tls {

/// The warning that is due: in how many days at most the certificate expires. One of 30, 7 and 1,
/// or 0 once it has expired. Nothing if `last_warned` was that already.
[[nodiscard]] std::optional<int> expiry_warning(SystemTime now, SystemTime not_after,
                                                std::optional<int> last_warned);

class ServingCertificate {
 public:
  struct Counts {
    std::uint64_t loaded = 0;  // Including the first.
    std::uint64_t failed = 0;
  };

  ServingCertificate(std::shared_ptr<const ServerContext> first, base::Logger log);

  /// From PEM in memory.
  [[nodiscard]] static base::Result<std::unique_ptr<ServingCertificate>> create(
      const ServerPem& pem, base::Logger log);

  /// What the next handshake uses. Never null.
  [[nodiscard]] std::shared_ptr<const ServerContext> context() const INJ_EXCLUDES(mutex_);

  /// Puts `pem` in service from the next handshake on, or fails and changes nothing. Counts both;
  /// logs a success, and a failure once as long as it stays the same. Fails also where `pem` is not
  /// valid at `now` while the certificate in service is.
  base::Result<void> replace(const ServerPem& pem,
                             SystemTime now = std::chrono::system_clock::now())
      INJ_EXCLUDES(mutex_);

  /// The same whatever is in service now: for the first certificate after a stand-in.
  base::Result<void> replace_stand_in(const ServerPem& pem) INJ_EXCLUDES(mutex_);

  /// Serves the same certificate with other client CAs, and keeps to them from now on, whatever
  /// client CAs a later replace() brings. Only for a certificate that was made by create().
  base::Result<void> replace_client_ca(const std::string& client_ca) INJ_EXCLUDES(mutex_);

  /// Counts and logs a replacement that did not even get here: a file that cannot be read.
  void report_failure(const base::Error& error) INJ_EXCLUDES(mutex_);

  [[nodiscard]] Counts counts() const INJ_EXCLUDES(mutex_);

  /// The failure that keeps a newer certificate from being served; empty when all is well.
  [[nodiscard]] base::Result<void> status() const INJ_EXCLUDES(mutex_);

  /// An Error if the certificate in service is not valid at `now`.
  [[nodiscard]] base::Result<void> valid(SystemTime now) const INJ_EXCLUDES(mutex_);

  /// Logs the warnings of expiry_warning(), each once a certificate, and puts a certificate in
  /// service that waited for its time. Cheap: call it every second.
  void warn_if_expiring(SystemTime now) INJ_EXCLUDES(mutex_);

 private:
  void remember(const ServerPem& pem) INJ_EXCLUDES(mutex_);
  [[nodiscard]] ServerPem with_own_client_ca(ServerPem pem) const INJ_EXCLUDES(mutex_);
  void put_in_service(std::shared_ptr<const ServerContext> context, const ServerPem& pem)
      INJ_EXCLUDES(mutex_);
  void take_up_waiting(SystemTime now) INJ_EXCLUDES(mutex_);

  mutable base::Mutex mutex_;
  std::shared_ptr<const ServerContext> context_ INJ_GUARDED_BY(mutex_);
  Counts counts_ INJ_GUARDED_BY(mutex_);
  std::optional<base::Error> failure_ INJ_GUARDED_BY(mutex_);
  std::optional<int> last_warned_ INJ_GUARDED_BY(mutex_);
  ServerPem pem_ INJ_GUARDED_BY(mutex_);  // What context_ was made of; empty: not known.
  std::optional<ServerPem> waiting_ INJ_GUARDED_BY(mutex_);      // Not valid yet.
  std::optional<std::string> client_ca_ INJ_GUARDED_BY(mutex_);  // By replace_client_ca().
  base::Logger log_;
};

struct CertificatePaths {
  std::string certificate;
  std::string key;
  std::string client_ca;  // Empty: none.
};

/// A ServingCertificate that follows files. Owns one thread, the file watch.
class CertificateFiles {
 public:
  /// Fails if the files cannot be served now; later failures keep the last good certificate.
  [[nodiscard]] static base::Result<std::unique_ptr<CertificateFiles>> open(
      const CertificatePaths& paths, base::Logger log);

  CertificateFiles(const CertificatePaths& paths, base::FileSnapshot seen,
                   std::shared_ptr<const ServerContext> first, base::Logger log);

  [[nodiscard]] ServingCertificate& certificate() noexcept { return certificate_; }

  /// Reads the files again now (SIGHUP), on the watch's thread.
  void reload_now() { watch_.check_now(); }

 private:
  void load(const base::FileSnapshot& files);

  ServingCertificate certificate_;
  base::FileWatch watch_;  // Last: its thread uses the others.
};

}  // namespace injector::tls
