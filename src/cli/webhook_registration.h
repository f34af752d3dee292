// How our webhook is registered in a cluster, for people who ask why it is not called.

#pragma once

#include <stop_token>
#include <string>

#include "base/json.h"
#include "cli/explain_live.h"
#include "kube/rest_client.h"
#include "tls/certificate.h"

namespace injector::cli {

/// The MutatingWebhookConfiguration of that name, if there is one, and what its caBundles are
/// worth. What may not be read is noted. Asks the server two or three times.
[[nodiscard]] Registration find_registration(kube::RestClient& client,
                                             const std::string& configuration, tls::SystemTime now,
                                             const std::stop_token& stop);

struct BundleVerdict {
  std::string text;
  bool trusted = true;
};

/// What a webhook's clientConfig says about who may sign for it. `secret` is the Secret with the
/// serving certificate; null: it is not known, `why_not` says why.
[[nodiscard]] BundleVerdict judge_bundle(const base::Json& client_config, const base::Json& secret,
                                         const std::string& why_not, tls::SystemTime now);

}  // namespace injector::cli
