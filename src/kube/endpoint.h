// The address of an API server, taken apart.
//
// Pure; may be called from any thread.

#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace injector::kube {

struct Endpoint {
  bool tls = true;
  std::string host;  // Without brackets.
  std::string port;
  std::string prefix;  // "" or "/path" without a slash at its end.

  /// "host:port", brackets around IPv6: the Host header.
  [[nodiscard]] std::string authority() const;
};

/// A URL, or host[:port] for which `default_tls` chooses the scheme. User info, query and fragment
/// are refused.
[[nodiscard]] base::Result<Endpoint> parse_endpoint(std::string_view server, bool default_tls);

}  // namespace injector::kube
