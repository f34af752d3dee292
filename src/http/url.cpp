#include "http/url.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace injector::http {
namespace {

constexpr std::string_view kSchemeEnd = "://";

bool printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

bool valid_port(std::string_view port) {
  unsigned number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  return error == std::errc{} && end == port.data() + port.size() && number > 0 && number < 65536;
}

struct HostPort {
  std::string_view host;
  std::string_view port;  // Empty: not given.
};

std::optional<HostPort> split_bracketed(std::string_view authority) {
  const std::size_t close = authority.find(']');
  if (close == std::string_view::npos) {
    return std::nullopt;
  }
  const HostPort bare{authority.substr(1, close - 1), {}};
  const std::string_view rest = authority.substr(close + 1);
  if (rest.empty()) {
    return bare;
  }
  if (rest.front() != ':' || rest.size() == 1) {
    return std::nullopt;
  }
  return HostPort{bare.host, rest.substr(1)};
}

std::optional<HostPort> split_authority(std::string_view authority) {
  if (!authority.empty() && authority.front() == '[') {
    return split_bracketed(authority);
  }
  const std::size_t colon = authority.find(':');
  if (colon == std::string_view::npos) {
    return HostPort{authority, {}};
  }
  const std::string_view port = authority.substr(colon + 1);
  if (port.empty()) {
    return std::nullopt;
  }
  return HostPort{authority.substr(0, colon), port};
}

base::Error bad_url(std::string_view text, std::string_view why) {
  return base::invalid("\"" + std::string(text) + "\": " + std::string(why));
}

std::optional<bool> scheme_tls(std::string_view server, bool default_tls) {
  const std::size_t end = server.find(kSchemeEnd);
  if (end == std::string_view::npos) {
    return default_tls;
  }
  const std::string_view scheme = server.substr(0, end);
  if (scheme == "https" || scheme == "http") {
    return scheme == "https";
  }
  return std::nullopt;
}

std::string without_end_slash(std::string_view path) {
  while (!path.empty() && path.back() == '/') {
    path.remove_suffix(1);
  }
  return std::string(path);
}

}  // namespace

std::string Url::authority() const {
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + port;
}

std::string Url::text() const {
  return (tls ? "https://" : "http://") + authority() + prefix;
}

base::Result<Url> parse_url(std::string_view text, bool default_tls) {
  if (!printable(text) || text.find_first_of("?#@") != std::string_view::npos) {
    return bad_url(text, "want https://host:port, without user, query or fragment");
  }
  const std::optional<bool> tls = scheme_tls(text, default_tls);
  if (!tls) {
    return bad_url(text, "the scheme must be https or http");
  }
  const std::size_t scheme_end = text.find(kSchemeEnd);
  const bool has_scheme = scheme_end != std::string_view::npos;
  const std::string_view rest = has_scheme ? text.substr(scheme_end + kSchemeEnd.size()) : text;
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  const std::optional<HostPort> split = split_authority(rest.substr(0, slash));
  if (!split || split->host.empty()) {
    return bad_url(text, "no host and port");
  }
  Url url{*tls, std::string(split->host), std::string(split->port),
          without_end_slash(rest.substr(slash))};
  if (!has_scheme && !url.prefix.empty()) {
    return bad_url(text, "a path needs a scheme in front of the host");
  }
  if (url.port.empty()) {
    url.port = *tls ? "443" : "80";
  }
  if (!valid_port(url.port)) {
    return bad_url(text, "bad port");
  }
  return url;
}

}  // namespace injector::http
