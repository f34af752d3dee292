#include "http/proxy.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <charconv>
#include <netinet/in.h>

#include "base/base64.h"

namespace injector::http {
namespace {

constexpr std::string_view kMappedV4{"\0\0\0\0\0\0\0\0\0\0\xff\xff", 12};

/// An address of either family in 16 bytes, as text of bytes; empty: it is a name.
std::string address_of(std::string_view host) {
  const std::string text(host);
  std::array<char, sizeof(in6_addr)> bytes{};
  if (::inet_pton(AF_INET, text.c_str(), bytes.data()) == 1) {
    return std::string(kMappedV4) + std::string(bytes.data(), sizeof(in_addr));
  }
  const bool v6 = ::inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1;
  return v6 ? std::string(bytes.data(), bytes.size()) : std::string();
}

bool is_v4(std::string_view address) {
  return address.starts_with(kMappedV4);
}

bool is_this_machine(const std::string& host) {
  const std::string address = address_of(host);
  return host == "localhost" || address == address_of("::1") ||
         (is_v4(address) && address[kMappedV4.size()] == 127);
}

std::optional<unsigned> number(std::string_view text) {
  unsigned value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stopped == end ? std::optional(value) : std::nullopt;
}

/// Whether the first `bits` of both are the same.
bool same_network(std::string_view left, std::string_view right, unsigned bits) {
  const std::size_t whole = bits / 8;
  const unsigned rest = bits % 8;
  const auto byte = [](std::string_view text, std::size_t at) {
    return static_cast<unsigned>(static_cast<unsigned char>(text[at]));
  };
  return left.substr(0, whole) == right.substr(0, whole) &&
         (rest == 0 || (byte(left, whole) ^ byte(right, whole)) >> (8 - rest) == 0);
}

/// `network` is like "10.0.0.0/8".
bool in_network(std::string_view network, std::string_view address) {
  const std::size_t slash = std::min(network.find('/'), network.size());
  const std::string base = address_of(network.substr(0, slash));
  const auto bits = number(network.substr(std::min(slash + 1, network.size())));
  if (base.empty() || address.empty() || !bits || is_v4(base) != is_v4(address)) {
    return false;
  }
  return is_v4(base) ? *bits <= 32 && same_network(base, address, *bits + 96)
                     : *bits <= 128 && same_network(base, address, *bits);
}

std::string lower(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  std::string out(text.substr(begin, text.find_last_not_of(" \t") + 1 - begin));
  std::transform(out.begin(), out.end(), out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

bool in_domain(std::string_view host, std::string_view domain) {
  if (domain.starts_with("*.")) {
    domain.remove_prefix(1);
  }
  if (domain.starts_with('.')) {
    return host.ends_with(domain);
  }
  return host == domain || host.ends_with("." + std::string(domain));
}

/// One entry of NO_PROXY that is neither "*" nor a network.
bool matches(const std::string& entry, const Url& server) {
  const std::size_t colon = entry.rfind(':');
  const bool has_port = colon != std::string::npos && address_of(entry).empty();
  if (has_port && entry.substr(colon + 1) != server.port) {
    return false;
  }
  std::string_view host = std::string_view(entry).substr(0, has_port ? colon : entry.size());
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  }
  const std::string address = address_of(host);
  if (!address.empty()) {
    return address == address_of(server.host);
  }
  return !host.empty() && in_domain(lower(server.host), host);
}

std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned char byte = 0;
    const std::string_view digits = text.substr(i + 1, text[i] == '%' ? 2 : 0);
    const auto end = digits.data() + digits.size();
    if (digits.size() == 2 && std::from_chars(digits.data(), end, byte, 16).ptr == end) {
      out += static_cast<char>(byte);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

/// `user` is like "name:password".
std::string basic_authorization(std::string_view user) {
  const std::size_t colon = std::min(user.find(':'), user.size());
  const std::string_view password = user.substr(std::min(colon + 1, user.size()));
  return "Basic " + base::base64_encode(decoded(user.substr(0, colon)) + ":" + decoded(password));
}

}  // namespace

base::Result<Proxy> parse_proxy(std::string_view text) {
  constexpr std::string_view kScheme = "http://";
  if (text.starts_with(kScheme)) {
    text.remove_prefix(kScheme.size());
  } else if (text.find("://") != std::string_view::npos) {
    return base::invalid("the proxy's scheme must be http");
  }
  const std::size_t at = text.rfind('@');
  const bool has_user = at != std::string_view::npos;
  const std::string_view host = has_user ? text.substr(at + 1) : text;
  INJ_ASSIGN(Url url, parse_url(std::string(kScheme) + std::string(host), false));
  return Proxy{std::move(url), has_user ? basic_authorization(text.substr(0, at)) : ""};
}

bool excluded_from_proxy(const Url& server, std::string_view no_proxy) {
  if (is_this_machine(server.host)) {
    return true;
  }
  while (!no_proxy.empty()) {
    const std::size_t comma = std::min(no_proxy.find(','), no_proxy.size());
    const std::string entry = lower(no_proxy.substr(0, comma));
    no_proxy.remove_prefix(std::min(comma + 1, no_proxy.size()));
    if (entry == "*" || in_network(entry, address_of(server.host)) || matches(entry, server)) {
      return true;
    }
  }
  return false;
}

base::Result<std::optional<Proxy>> proxy_from_environment(
    const Url& server,
    const std::function<std::optional<std::string>(const std::string& name)>& variable) {
  const auto either = [&](const std::string& name) {
    const std::string value = variable(name).value_or("");
    return value.empty() ? variable(lower(name)).value_or("") : value;
  };
  const std::string name = server.tls ? "HTTPS_PROXY" : "HTTP_PROXY";
  const std::string value = either(name);
  if (value.empty() || excluded_from_proxy(server, either("NO_PROXY"))) {
    return std::optional<Proxy>();
  }
  auto proxy = parse_proxy(value);
  if (!proxy) {
    return annotate(std::move(proxy).error(), name);
  }
  return std::optional<Proxy>(std::move(proxy).value());
}

}  // namespace injector::http
