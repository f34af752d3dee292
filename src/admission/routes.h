// The routes of the webhook, and the names under which handlers know requests and replies.

#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "http/message.h"

namespace injector::admission {

using HttpReply = http::Reply;
using HttpRequest = http::Request;
using Routes = http::Routes;

/// POST of a review: called concurrently; bytes in, status and bytes out. Must not block.
using AdmissionHandler = std::function<HttpReply(std::string_view body)>;

/// The same where an answer may have to wait for something.
struct WaitingHandler {
  std::function<std::optional<HttpReply>(std::string_view body)> at_once;  // Nothing: has to wait.
  AdmissionHandler in_time;                                                // May block.
};

/// POST /mutate alone,
[[nodiscard]] Routes mutate_routes(AdmissionHandler handler);
/// and with POST /validate.
[[nodiscard]] Routes webhook_routes(WaitingHandler mutate, AdmissionHandler validate);

}  // namespace injector::admission
