// Requests, replies and routes as handlers see them: no sockets in here.

#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace injector::http {

struct Reply {
  int status = 200;
  std::string body;
  std::string content_type = "application/json";
};

/// What a route's handler gets; valid during the call only.
struct Request {
  std::string_view query;  // As sent, without the question mark.
  std::string_view body;   // Empty for GET.
};

enum class Method { Get, Post };

/// One path and what it answers. Handlers are called concurrently. What one throws becomes a 500.
struct Route {
  using Handler = std::function<Reply(const Request&)>;
  using QuickHandler = std::function<std::optional<Reply>(const Request&)>;

  Method method = Method::Get;  // Get also answers HEAD.
  std::string path;             // Compared as a whole.

  /// Runs on an event loop and must not wait for anything, unless `may_block` is set: then it runs
  /// on a thread of its own.
  Handler handler;
  bool may_block = false;

  /// With `may_block`: tried first, on the event loop, where it must not wait. Nothing: this
  /// request has to wait for something, and is the handler's.
  QuickHandler quick = {};
};

using Routes = std::vector<Route>;

/// A line of plain text.
[[nodiscard]] Reply text_reply(int status, std::string text);

}  // namespace injector::http
