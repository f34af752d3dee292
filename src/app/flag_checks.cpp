#include "app/flag_checks.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "http/listener.h"

namespace injector::app {
namespace {

constexpr std::size_t kMaxDnsName = 253;

bool is_letter_or_digit(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

// Letters, digits and `others`, with a letter or a digit at both ends.
bool is_name(std::string_view text, std::string_view others, std::size_t most) {
  return !text.empty() && text.size() <= most && is_letter_or_digit(text.front()) &&
         is_letter_or_digit(text.back()) && std::all_of(text.begin(), text.end(), [&](char c) {
           return is_letter_or_digit(c) || others.find(c) != std::string_view::npos;
         });
}

bool is_dns_name(std::string_view text) {
  return is_name(text, "-.", kMaxDnsName) && text.find("..") == std::string_view::npos;
}

bool is_annotation(std::string_view text) {
  constexpr std::size_t kMaxName = 63 - std::string_view("-status").size();
  const std::size_t slash = text.find('/');
  const bool prefixed = slash != std::string_view::npos;
  return is_name(text.substr(prefixed ? slash + 1 : 0), "-_.", kMaxName) &&
         (!prefixed || is_dns_name(text.substr(0, slash)));
}

bool is_configmap(std::string_view text) {
  const std::size_t slash = text.find('/');
  const bool prefixed = slash != std::string_view::npos;
  return is_dns_name(text.substr(prefixed ? slash + 1 : 0)) &&
         (!prefixed || is_dns_name(text.substr(0, slash)));
}

bool is_host(std::string_view text) {
  if (text.starts_with("*.")) {
    text.remove_prefix(2);
  }
  const bool address = text.find(':') != std::string_view::npos &&
                       text.find_first_not_of("0123456789abcdefABCDEF:.") == std::string_view::npos;
  return address || is_dns_name(text);
}

CLI::Validator check_of(bool (*good)(std::string_view), const char* what, const char* type) {
  return {[good, what](std::string& text) {
            return good(text) ? std::string() : fmt::format("\"{}\" is not {}", text, what);
          },
          type};
}

}  // namespace

CLI::Validator annotation_check() {
  return check_of(is_annotation,
                  "a key of annotations such as example.com/sidecar, with a name of at most 56 "
                  "characters",
                  "KEY");
}

CLI::Validator configmap_check() {
  return check_of(is_configmap, "the name of a ConfigMap, as [NS/]NAME", "[NS/]NAME");
}

CLI::Validator host_check() {
  return check_of(is_host, "a DNS name or an address", "NAME");
}

CLI::Validator listen_check() {
  return {[](std::string& text) {
            const auto address = http::parse_listen_address(text);
            return address ? std::string() : address.error().message;
          },
          "ADDRESS"};
}

CLI::Validator not_empty_check() {
  return check_of([](std::string_view text) { return !text.empty(); }, "a path", "PATH");
}

}  // namespace injector::app
