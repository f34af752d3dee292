// The words an exec plugin and its caller exchange: client.authentication.k8s.io v1 and v1beta1.
//
// Pure; may be called from any thread.

#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kube/config.h"
#include "tls/client_context.h"

namespace injector::kube {

inline constexpr std::string_view kExecV1 = "client.authentication.k8s.io/v1";
inline constexpr std::string_view kExecV1beta1 = "client.authentication.k8s.io/v1beta1";

struct ExecCredential {
  std::string token;
  tls::ClientIdentity identity;
  std::optional<std::chrono::system_clock::time_point> expires;
};

/// The value of KUBERNETES_EXEC_INFO.
[[nodiscard]] std::string exec_info(const ExecSettings& settings, bool interactive);

/// What the plugin printed. It must answer in the version it was asked in, with a token, a
/// certificate and key, or both.
[[nodiscard]] base::Result<ExecCredential> parse_exec_credential(std::string_view text,
                                                                 std::string_view api_version);

}  // namespace injector::kube
