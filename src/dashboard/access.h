// Who may ask. The pages answer a browser on this machine, and every page that this browser shows
// can send requests to this machine as well. So, besides being read-only:
//   - the Host must be an address, localhost, or a name that the user gave: a foreign name that
//     was made to point here (DNS rebinding) is refused;
//   - the API answers only requests of our own page or of a program, not those of other sites;
//   - with a token, the API wants it: as a bearer token, or in the cookie that the address printed
//     at the start sets. That address works once.
//
// Thread-safe.

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/head.h"
#include "http/message.h"

namespace injector::dashboard {

/// True for "127.0.0.1:8080", "[::1]:0" and "localhost:80": nobody but this machine gets there.
[[nodiscard]] bool is_loopback(std::string_view listen_address);

/// "http://127.0.0.1:8080/" for a server that listens there.
[[nodiscard]] std::string page_address(std::string_view listen_address, std::uint16_t port);

/// 32 random bytes in hex.
[[nodiscard]] std::string random_token();

struct AccessOptions {
  std::vector<std::string> host_names = {};  // Besides addresses and localhost.
  std::string token = {};                    // Empty: none is needed.
};

class Access {
 public:
  explicit Access(AccessOptions options);

  /// Of the page's own files, which hold nothing worth hiding: the Host counts. A request with the
  /// login code gets the cookie. Nothing: go on.
  [[nodiscard]] std::optional<http::Reply> check_page(const http::RequestHead& head);

  /// Of everything else.
  [[nodiscard]] std::optional<http::Reply> check_api(const http::RequestHead& head) const;

  /// What to append to the page's address for the first visit: "?token=..."; empty where no token
  /// is needed.
  [[nodiscard]] std::string login_query() const;

 private:
  [[nodiscard]] bool knows_host(std::string_view host) const;
  [[nodiscard]] bool is_authorized(const http::RequestHead& head) const;

  const AccessOptions options_;
  const std::string login_code_;  // Empty without a token, as is the next.
  const std::string session_;     // The cookie's value.
  std::atomic<bool> logged_in_{false};
};

/// Headers of every reply: nothing is cached, framed, guessed or loaded from elsewhere.
[[nodiscard]] const http::Headers& security_headers();

}  // namespace injector::dashboard
