#include "network.h"

#include <arpa/inet.h>
#include <charconv>
#include <cstdint>
#include <optional>

#include <fmt/format.h>

namespace injector::examples {
namespace {

std::optional<std::uint32_t> parse_address(const std::string& text) {
  in_addr address{};
  const bool whole = text.find('\0') == std::string::npos;  // inet_pton() would stop there.
  const bool valid = whole && ::inet_pton(AF_INET, text.c_str(), &address) == 1;
  return valid ? std::optional(ntohl(address.s_addr)) : std::nullopt;
}

// The bits that all addresses of a network share: 255.255.0.0 for "16".
std::optional<std::uint32_t> parse_mask(const std::string& text) {
  unsigned length = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, length);
  const bool valid = text.size() < 3 && read.ec == std::errc() && read.ptr == end && length <= 32;
  return valid ? std::optional(~static_cast<std::uint32_t>(0xffffffffULL >> length)) : std::nullopt;
}

}  // namespace

base::Result<Network> parse_network(const base::Json& object) {
  const std::string cidr(base::text_of(base::find(object, "spec", "cidr")));
  const std::string gateway(base::text_of(base::find(object, "spec", "gateway")));
  const std::size_t slash = cidr.find('/');
  const auto first = parse_address(cidr.substr(0, slash));
  const auto mask = parse_mask(slash == std::string::npos ? "" : cidr.substr(slash + 1));
  if (!first || !mask || (*first & ~*mask) != 0) {
    return base::invalid(fmt::format("spec.cidr: \"{:.64}\" is not an IPv4 network", cidr));
  }
  const auto address = parse_address(gateway);
  if (!address || (*address & *mask) != *first) {
    return base::invalid(fmt::format("spec.gateway: \"{:.64}\" is not in {}", gateway, cidr));
  }
  return Network{cidr, gateway};
}

}  // namespace injector::examples
