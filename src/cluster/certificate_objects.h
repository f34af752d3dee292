// The managed certificates as they stand in a Secret and in webhook configurations. Pure; any
// thread.

#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "tls/certificate.h"
#include "tls/managed_certificates.h"

namespace injector::cluster {

/// What is missing or is not base64 comes out empty, which is as good as broken.
[[nodiscard]] tls::StoredCertificates content_of(const base::Json& secret);

/// Other data, labels and the like are somebody else's and stay.
void set_content(base::Json& secret, const tls::StoredCertificates& content);

/// Of type kubernetes.io/tls, so that everything that knows such Secrets can show this one.
[[nodiscard]] base::Json new_secret(const std::string& name_space, const std::string& name);

/// The authorities that all webhooks of a configuration trust.
[[nodiscard]] std::vector<tls::Certificate> trusted_by(const base::Json& configuration);

/// Writes the caBundle of every webhook. True if that changes anything.
bool set_bundle(base::Json& configuration, const std::string& pem);

}  // namespace injector::cluster
