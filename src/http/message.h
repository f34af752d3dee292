// Requests, replies and routes as handlers see them: no sockets in here.

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace injector::http {

class Broadcast;
struct RequestHead;

/// Names and values; none of those that the server writes itself.
using Headers = std::vector<std::pair<std::string, std::string>>;

struct Reply {
  int status = 200;
  std::string body;
  std::string content_type = "application/json";
  Headers headers = {};
};

/// What a route's handler gets; valid during the call only.
struct Request {
  std::string_view query;  // As sent, without the question mark.
  std::string_view body;   // Empty for GET.
  std::string_view path = {};
};

enum class Method { Get, Post };

/// One path and what it answers. Handlers are called concurrently. What one throws becomes a 500.
struct Route {
  using Handler = std::function<Reply(const Request&)>;
  using QuickHandler = std::function<std::optional<Reply>(const Request&)>;
  using Guard = std::function<std::optional<Reply>(const RequestHead&)>;

  Method method = Method::Get;  // Get also answers HEAD.
  std::string path;             // Compared as a whole. The first route that matches answers.

  /// Runs on an event loop and must not wait for anything, unless `may_block` is set: then it runs
  /// on a thread of its own.
  Handler handler;
  bool may_block = false;

  /// With `may_block`: tried first, on the event loop, where it must not wait. Nothing: this
  /// request has to wait for something, and is the handler's.
  QuickHandler quick = {};

  /// Answers everything below `path` as well: "/pods" then also means "/pods/web-0".
  bool subtree = false;

  /// Asked before the body is read, on the event loop: a reply of it refuses the request. Must not
  /// throw.
  Guard guard = {};

  /// In place of a handler, with Get: the reply is a stream of server-sent events that goes on for
  /// as long as the client listens. Replies with `stream_headers`.
  std::shared_ptr<Broadcast> stream = {};
  Headers stream_headers = {};
};

using Routes = std::vector<Route>;

/// A line of plain text.
[[nodiscard]] Reply text_reply(int status, std::string text);

}  // namespace injector::http
