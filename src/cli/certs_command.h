// certs: a CA and a serving certificate for those who bring their own.

#pragma once

#include <string>
#include <vector>

#include "cli/streams.h"
#include "tls/certificate.h"

namespace injector::cli {

struct CertsOptions {
  std::vector<std::string> names;  // DNS names and addresses of the serving certificate.
  std::string directory;           // Created where it does not exist.
  int days = 365;
  bool keep_ca_key = false;
};

/// Writes ca.crt, tls.crt and tls.key, and ca.key where it is to be kept. A file that exists is not
/// replaced: a key that is overwritten is lost.
[[nodiscard]] int run_certs(const CertsOptions& options, tls::SystemTime now,
                            const Streams& streams);

}  // namespace injector::cli
