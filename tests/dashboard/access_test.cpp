// Who may ask, and who may not: foreign names, foreign sites, missing tokens.

#include "dashboard/access.h"

#include <string>

#include <catch2/catch.hpp>

namespace injector::tests {
namespace {

using dashboard::Access;
using dashboard::AccessOptions;

// A head as a browser on this machine sends it.
http::RequestHead head_of(std::string_view host) {
  http::RequestHead head;
  head.line = "GET / HTTP/1.1";
  head.method = "GET";
  head.path = "/";
  head.host = host;
  return head;
}

int status_of(const std::optional<http::Reply>& reply) {
  return reply ? reply->status : 200;
}

std::string header_of(const http::Reply& reply, std::string_view name) {
  for (const auto& [key, value] : reply.headers) {
    if (key == name) {
      return value;
    }
  }
  return "";
}

TEST_CASE("access: a name that was made to point here is refused", "[dashboard]") {
  Access access{AccessOptions{}};
  for (const char* host :
       {"127.0.0.1:8080", "127.0.0.1", "localhost:1", "[::1]:80", "[::1]", "10.1.2.3:8080"}) {
    INFO(host);
    REQUIRE(status_of(access.check_page(head_of(host))) == 200);
    REQUIRE(status_of(access.check_api(head_of(host))) == 200);
  }
  for (const char* host :
       {"", "evil.example", "evil.example:8080", "127.0.0.1.evil.example", "localhost.evil.example",
        "[::1", "127.0.0.1@evil.example", "[evil]:1"}) {
    INFO(host);
    REQUIRE(status_of(access.check_page(head_of(host))) == 403);
    REQUIRE(status_of(access.check_api(head_of(host))) == 403);
  }
}

TEST_CASE("access: a name that the user allowed is known, in any case", "[dashboard]") {
  Access access{AccessOptions{{"tools.example"}, ""}};
  REQUIRE(status_of(access.check_api(head_of("Tools.Example:80"))) == 200);
  REQUIRE(status_of(access.check_api(head_of("other.example:80"))) == 403);
}

TEST_CASE("access: a request line that names a host is refused", "[dashboard]") {
  Access access{AccessOptions{}};
  http::RequestHead head = head_of("127.0.0.1");
  head.line = "GET http://evil.example/ HTTP/1.1";
  REQUIRE(status_of(access.check_api(head)) == 403);
  REQUIRE(status_of(access.check_page(head)) == 403);
}

TEST_CASE("access: the API does not answer other sites", "[dashboard]") {
  const Access access{AccessOptions{}};
  const auto from = [&](std::string_view origin, std::string_view site) {
    http::RequestHead head = head_of("127.0.0.1:8080");
    head.origin = origin;
    head.fetch_site = site;
    return status_of(access.check_api(head));
  };
  REQUIRE(from("", "") == 200);
  REQUIRE(from("", "none") == 200);
  REQUIRE(from("http://127.0.0.1:8080", "same-origin") == 200);
  REQUIRE(from("http://evil.example", "cross-site") == 403);
  REQUIRE(from("http://evil.example", "") == 403);
  REQUIRE(from("null", "") == 403);
  REQUIRE(from("", "cross-site") == 403);
  // Another program on this machine, on another port.
  REQUIRE(from("http://127.0.0.1:9999", "same-site") == 403);
  REQUIRE(from("http://127.0.0.1:9999", "") == 403);
}

TEST_CASE("access: a link from elsewhere may lead to the page", "[dashboard]") {
  Access access{AccessOptions{}};
  http::RequestHead head = head_of("127.0.0.1:8080");
  head.fetch_site = "cross-site";
  REQUIRE(status_of(access.check_page(head)) == 200);
}

TEST_CASE("access: with a token, the API wants it", "[dashboard]") {
  const Access access{AccessOptions{{}, "secret"}};
  const auto with = [&](std::string_view authorization, std::string_view cookie) {
    http::RequestHead head = head_of("10.0.0.1:8080");
    head.authorization = authorization;
    head.cookie = cookie;
    return status_of(access.check_api(head));
  };
  REQUIRE(with("", "") == 401);
  REQUIRE(with("Bearer secret", "") == 200);
  REQUIRE(with("Bearer secre", "") == 401);
  REQUIRE(with("Bearer secrets", "") == 401);
  REQUIRE(with("Bearer ", "") == 401);
  REQUIRE(with("Basic secret", "") == 401);
  REQUIRE(with("", "envoy-initializer-session=secret") == 401);
  REQUIRE(with("", "envoy-initializer-session=") == 401);
}

TEST_CASE("access: the printed address logs one browser in, once", "[dashboard]") {
  Access access{AccessOptions{{}, "secret"}};
  const std::string query = access.login_query().substr(1);
  http::RequestHead head = head_of("10.0.0.1:8080");
  head.query = "token=wrong";
  REQUIRE(status_of(access.check_page(head)) == 403);
  head.query = query;
  const auto reply = access.check_page(head);
  REQUIRE(status_of(reply) == 303);
  REQUIRE(header_of(*reply, "Location") == "/");
  const std::string cookie = header_of(*reply, "Set-Cookie");
  REQUIRE(cookie.find("; HttpOnly; SameSite=Strict") != std::string::npos);
  REQUIRE(cookie.find("secret") == std::string::npos);
  REQUIRE(status_of(access.check_page(head)) == 403);

  const std::string sent = "other=1; " + cookie.substr(0, cookie.find(';'));
  http::RequestHead later = head_of("10.0.0.1:8080");
  later.cookie = sent;
  REQUIRE(status_of(access.check_api(later)) == 200);
}

TEST_CASE("access: without a token nobody is sent through a login", "[dashboard]") {
  Access access{AccessOptions{}};
  REQUIRE(access.login_query().empty());
  http::RequestHead head = head_of("127.0.0.1");
  head.query = "token=";
  REQUIRE(status_of(access.check_page(head)) == 403);
}

TEST_CASE("access: tells addresses that only this machine reaches", "[dashboard]") {
  for (const char* listen : {"127.0.0.1:8080", "127.1.2.3:0", "[::1]:80", "localhost:80"}) {
    REQUIRE(dashboard::is_loopback(listen));
  }
  for (const char* listen :
       {":8080", "0.0.0.0:8080", "[::]:80", "10.0.0.1:80", "127.evil.org:80"}) {
    REQUIRE_FALSE(dashboard::is_loopback(listen));
  }
  REQUIRE(dashboard::page_address("127.0.0.1:0", 8080) == "http://127.0.0.1:8080/");
  REQUIRE(dashboard::page_address("[::1]:0", 80) == "http://[::1]:80/");
}

TEST_CASE("access: every reply forbids scripts and frames from elsewhere", "[dashboard]") {
  http::Reply reply;
  reply.headers = dashboard::security_headers();
  const std::string policy = header_of(reply, "Content-Security-Policy");
  REQUIRE(policy.starts_with("default-src 'none'; script-src 'self'"));
  REQUIRE(policy.find("unsafe") == std::string::npos);
  REQUIRE(policy.find("frame-ancestors 'none'") != std::string::npos);
  REQUIRE(header_of(reply, "X-Content-Type-Options") == "nosniff");
}

}  // namespace
}  // namespace injector::tests
