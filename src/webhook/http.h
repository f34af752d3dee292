// Requests and answers as the handlers see them: no sockets, no HTTP library.

#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace injector::webhook {

struct HttpReply {
  int status = 200;
  std::string body;
  std::string content_type = "application/json";
};

/// POST of a review: called concurrently; bytes in, status and bytes out.
using AdmissionHandler = std::function<HttpReply(std::string_view body)>;

/// What a route's handler gets; valid during the call only.
struct HttpRequest {
  std::string_view query;  // As sent, without the question mark.
  std::string_view body;   // Empty for GET.
};

enum class HttpMethod { Get, Post };

/// One path and what it answers. Called concurrently. What a handler throws becomes a 500.
struct Route {
  HttpMethod method = HttpMethod::Get;  // Get also answers HEAD.
  std::string path;                     // Compared as a whole.
  std::function<HttpReply(const HttpRequest&)> handler;
};

using Routes = std::vector<Route>;

/// POST /mutate alone,
[[nodiscard]] Routes mutate_routes(AdmissionHandler handler);
/// and with POST /validate.
[[nodiscard]] Routes webhook_routes(AdmissionHandler mutate, AdmissionHandler validate);

}  // namespace injector::webhook
