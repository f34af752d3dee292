#include "dashboard/access.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <random>
#include <utility>

#include <fmt/format.h>

namespace injector::dashboard {
namespace {

using http::Reply;
using http::RequestHead;

constexpr std::string_view kCookie = "envoy-initializer-session=";
constexpr std::string_view kLogin = "token=";
constexpr std::string_view kBearer = "Bearer ";

// "host:port" without the port; an IPv6 address loses its brackets.
std::string host_part(std::string_view authority) {
  if (authority.starts_with('[')) {
    const std::size_t end = authority.find(']');
    return end == std::string_view::npos ? std::string()
                                         : std::string(authority.substr(1, end - 1));
  }
  return std::string(authority.substr(0, authority.rfind(':')));
}

bool is_address(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  return ::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

// Takes the same time wherever they differ.
bool same_secret(std::string_view given, std::string_view secret) {
  unsigned difference = given.size() == secret.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size() && i < secret.size(); ++i) {
    const auto left = static_cast<unsigned char>(given[i]);
    const auto right = static_cast<unsigned char>(secret[i]);
    difference |= static_cast<unsigned>(left ^ right);
  }
  return difference == 0 && !secret.empty();
}

// "a=1; b=2"
std::string_view cookie_value(std::string_view cookies, std::string_view name) {
  while (!cookies.empty()) {
    const std::size_t end = std::min(cookies.find(';'), cookies.size());
    std::string_view one = cookies.substr(0, end);
    one.remove_prefix(std::min(one.find_first_not_of(' '), one.size()));
    if (one.starts_with(name)) {
      return one.substr(name.size());
    }
    cookies.remove_prefix(std::min(end + 1, cookies.size()));
  }
  return {};
}

// Browsers say where a request comes from; programs say nothing.
bool is_of_another_site(const RequestHead& head) {
  if (!head.fetch_site.empty() && head.fetch_site != "same-origin" && head.fetch_site != "none") {
    return true;
  }
  return !head.origin.empty() && head.origin != fmt::format("http://{}", head.host) &&
         head.origin != fmt::format("https://{}", head.host);
}

// "GET http://elsewhere/": a request for a proxy, whose Host header counts for nothing.
bool names_another_host(const RequestHead& head) {
  return !head.line.substr(std::min(head.method.size() + 1, head.line.size())).starts_with('/');
}

Reply refused(int status, std::string text) {
  Reply reply = http::text_reply(status, std::move(text));
  reply.headers = security_headers();
  return reply;
}

Reply wrong_host() {
  return refused(403,
                 "this host name is not known here: use the address that was printed, or "
                 "allow the name with --allow-host");
}

}  // namespace

bool is_loopback(std::string_view listen_address) {
  const std::string host = host_part(listen_address);
  return host == "localhost" || host == "::1" || (host.starts_with("127.") && is_address(host));
}

std::string page_address(std::string_view listen_address, std::uint16_t port) {
  const std::string host = host_part(listen_address);
  const bool brackets = host.find(':') != std::string::npos;
  return fmt::format("http://{}{}{}:{}/", brackets ? "[" : "", host.empty() ? "localhost" : host,
                     brackets ? "]" : "", port);
}

std::string random_token() {
  std::random_device random;
  std::string token;
  for (int i = 0; i < 8; ++i) {
    token += fmt::format("{:08x}", static_cast<std::uint32_t>(random()));
  }
  return token;
}

Access::Access(AccessOptions options)
    : options_(std::move(options)),
      login_code_(options_.token.empty() ? "" : random_token()),
      session_(options_.token.empty() ? "" : random_token()) {}

std::string Access::login_query() const {
  return login_code_.empty() ? "" : fmt::format("?{}{}", kLogin, login_code_);
}

bool Access::knows_host(std::string_view authority) const {
  const std::string host = host_part(authority);
  const auto& names = options_.host_names;
  return host == "localhost" || is_address(host) ||
         std::any_of(names.begin(), names.end(), [&host](const std::string& name) {
           return http::equal_ignoring_case(name, host);
         });
}

std::optional<Reply> Access::check_page(const RequestHead& head) {
  if (names_another_host(head) || !knows_host(head.host)) {
    return wrong_host();
  }
  if (!head.query.starts_with(kLogin)) {
    return std::nullopt;
  }
  if (!same_secret(head.query.substr(kLogin.size()), login_code_) || logged_in_.exchange(true)) {
    return refused(403,
                   "this address was for one visit, which has been made; start the dashboard "
                   "again, or send the token as a bearer token");
  }
  Reply reply = refused(303, "logged in");
  reply.headers.emplace_back("Location", "/");
  reply.headers.emplace_back(
      "Set-Cookie", fmt::format("{}{}; HttpOnly; SameSite=Strict; Path=/", kCookie, session_));
  return reply;
}

std::optional<Reply> Access::check_api(const RequestHead& head) const {
  if (names_another_host(head) || !knows_host(head.host)) {
    return wrong_host();
  }
  if (is_of_another_site(head)) {
    return refused(403, "requests of other sites are refused");
  }
  return is_authorized(head) ? std::nullopt : std::optional(refused(401, "a token is needed"));
}

bool Access::is_authorized(const RequestHead& head) const {
  if (options_.token.empty()) {
    return true;
  }
  const bool bearer = head.authorization.starts_with(kBearer) &&
                      same_secret(head.authorization.substr(kBearer.size()), options_.token);
  return bearer || same_secret(cookie_value(head.cookie, kCookie), session_);
}

const http::Headers& security_headers() {
  static const http::Headers kHeaders{
      {"Content-Security-Policy",
       "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src "
       "'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
      {"X-Content-Type-Options", "nosniff"},
      {"X-Frame-Options", "DENY"},
      {"Referrer-Policy", "no-referrer"},
      {"Cross-Origin-Opener-Policy", "same-origin"},
      {"Cross-Origin-Resource-Policy", "same-origin"},
      {"Cache-Control", "no-store"}};
  return kHeaders;
}

}  // namespace injector::dashboard
