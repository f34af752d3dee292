// The proxy in front of a server, as Go's programs find it: HTTPS_PROXY for https, HTTP_PROXY for
// http (or their lower-case names), unless NO_PROXY says otherwise.
//
// NO_PROXY lists, with commas between them:
//   example.com     the host and everything below it
//   .example.com    what is below it (*.example.com is the same)
//   10.1.2.3        an address; 10.0.0.0/8 a network
//   *               everything
// A ":port" behind a host or address restricts it to that port. This machine (localhost, loopback
// addresses) is never reached through a proxy.
//
// Pure; may be called from any thread.

#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/url.h"

namespace injector::http {

struct Proxy {
  Url url;                    // Plain HTTP always.
  std::string authorization;  // The Proxy-Authorization header; empty: none.
};

/// "http://user:password@host:port", where everything but the host may be missing. Other schemes
/// are refused. Errors do not repeat the password.
[[nodiscard]] base::Result<Proxy> parse_proxy(std::string_view text);

/// True if NO_PROXY's value excludes `server`.
[[nodiscard]] bool excluded_from_proxy(const Url& server, std::string_view no_proxy);

/// The proxy for `server`; empty: none. Errors name the variable.
[[nodiscard]] base::Result<std::optional<Proxy>> proxy_from_environment(
    const Url& server,
    const std::function<std::optional<std::string>(const std::string& name)>& variable);

}  // namespace injector::http
