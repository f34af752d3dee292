#include "http/proxy.h"

#include <map>
#include <string>

#include <catch2/catch.hpp>

namespace injector::http {
namespace {

bool excluded(const std::string& server, const std::string& no_proxy) {
  return excluded_from_proxy(parse_url(server, true).value(), no_proxy);
}

std::string proxy_for(const std::string& server, std::map<std::string, std::string> variables) {
  const auto proxy = proxy_from_environment(
      parse_url(server, true).value(), [&](const std::string& name) -> std::optional<std::string> {
        const auto found = variables.find(name);
        return found == variables.end() ? std::nullopt : std::optional(found->second);
      });
  if (!proxy) {
    return proxy.error().message;
  }
  return proxy.value() ? proxy.value()->url.text() : "none";
}

}  // namespace

TEST_CASE("proxy: NO_PROXY excludes hosts, domains, addresses and networks as in Go", "[http]") {
  struct Case {
    const char* no_proxy;
    const char* server;
    bool excluded;
  };

  for (const Case& c : {
           Case{"", "https://example.com", false},
           Case{"*", "https://example.com", true},
           Case{"example.com", "https://example.com", true},
           Case{"example.com", "https://a.b.example.com", true},
           Case{"example.com", "https://badexample.com", false},
           Case{".example.com", "https://example.com", false},
           Case{".example.com", "https://a.example.com", true},
           Case{"*.example.com", "https://a.example.com", true},
           Case{"*.example.com", "https://example.com", false},
           Case{" EXAMPLE.com , other", "https://Example.COM", true},
           Case{"example.com:443", "https://example.com", true},
           Case{"example.com:443", "https://example.com:6443", false},
           Case{"10.0.0.0/8", "https://10.96.0.1", true},
           Case{"10.0.0.0/8", "https://11.0.0.1", false},
           Case{"10.0.0.0/33", "https://10.0.0.0", false},
           Case{"10.96.0.0/12", "https://10.111.255.1", true},
           Case{"10.96.0.0/12", "https://10.112.0.1", false},
           Case{"::/0", "https://10.0.0.1", false},
           Case{"fd00::/8", "https://[fd00::1]", true},
           Case{"10.1.2.3", "https://10.1.2.3", true},
           Case{"10.1.2.3:443", "https://10.1.2.3:6443", false},
           Case{"[fd00::1]:443", "https://[fd00::1]", true},
           Case{"fd00::1", "https://[fd00::1]", true},
           Case{"10.0.0.0/8", "https://ten.example.com", false},
           Case{"", "https://localhost:6443", true},
           Case{"", "https://127.8.0.1", true},
           Case{"", "https://[::1]", true},
       }) {
    CAPTURE(c.no_proxy, c.server);
    CHECK(excluded(c.server, c.no_proxy) == c.excluded);
  }
}

TEST_CASE("proxy: each scheme has its variable, capitals first", "[http]") {
  CHECK(proxy_for("https://a", {{"HTTPS_PROXY", "http://p:1"}}) == "http://p:1");
  CHECK(proxy_for("https://a", {{"https_proxy", "p:1"}}) == "http://p:1");
  CHECK(proxy_for("https://a", {{"HTTPS_PROXY", "p"}, {"https_proxy", "q"}}) == "http://p:80");
  CHECK(proxy_for("https://a", {{"HTTP_PROXY", "p:1"}}) == "none");
  CHECK(proxy_for("http://a", {{"HTTP_PROXY", "p:1"}}) == "http://p:1");
  CHECK(proxy_for("https://a", {{"HTTPS_PROXY", "p:1"}, {"no_proxy", "a"}}) == "none");
  CHECK(proxy_for("https://a", {{"HTTPS_PROXY", "socks5://p"}}) ==
        "HTTPS_PROXY: the proxy's scheme must be http");
}

TEST_CASE("proxy: user and password are decoded, and errors do not repeat them", "[http]") {
  CHECK(parse_proxy("http://me:a%20b%@p:1").value().authorization == "Basic bWU6YSBiJQ==");
  CHECK(parse_proxy("http://me@p:1").value().authorization == "Basic bWU6");
  CHECK(parse_proxy("p").value().authorization.empty());
  const auto bad = parse_proxy("http://me:secret@p:x");
  REQUIRE_FALSE(bad.has_value());
  CHECK(bad.error().message.find("secret") == std::string::npos);
}

}  // namespace injector::http
