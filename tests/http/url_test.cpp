#include "http/url.h"

#include <string>

#include <catch2/catch.hpp>

namespace injector::http {

TEST_CASE("endpoint: addresses are taken apart and bad ones refused", "[http]") {
  const Url plain = parse_url("https://api.example:6443/p/q//", false).value();
  CHECK(plain.tls);
  CHECK(plain.host == "api.example");
  CHECK(plain.port == "6443");
  CHECK(plain.prefix == "/p/q");
  const Url v6 = parse_url("https://[fd00::1]", false).value();
  CHECK(v6.host == "fd00::1");
  CHECK(v6.authority() == "[fd00::1]:443");
  CHECK_FALSE(parse_url("localhost:8080", false).value().tls);
  CHECK(parse_url("localhost:8080", true).value().tls);
  for (const char* server :
       {"", "https://", "ftp://a", "https://a:0", "https://a:65536", "https://a:x",
        "https://a:", "https://u:p@a", "https://a/?q", "https://a#f", "https://a b", "https://[::1",
        "https://[::1]x", "https://a:1:2", "a/path", "https://a\r\nb"}) {
    CAPTURE(server);
    CHECK_FALSE(parse_url(server, true).has_value());
  }
}

}  // namespace injector::http
