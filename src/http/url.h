// The address of a server, taken apart.
//
// Pure; may be called from any thread.

#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace injector::http {

struct Url {
  bool tls = true;
  std::string host;  // Without brackets.
  std::string port;
  std::string prefix;  // "" or "/path" without a slash at its end.

  /// "host:port", brackets around IPv6: the Host header.
  [[nodiscard]] std::string authority() const;

  /// "https://host:port/prefix".
  [[nodiscard]] std::string text() const;
};

/// A URL, or host[:port] for which `default_tls` chooses the scheme. User info, query and fragment
/// are refused.
[[nodiscard]] base::Result<Url> parse_url(std::string_view text, bool default_tls);

}  // namespace injector::http
