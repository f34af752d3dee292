#include "kube/status.h"

#include <algorithm>
#include <cstdint>

#include "base/json_text.h"

namespace injector::kube {
namespace {

using base::Error;
using base::ErrorCode;
using base::Json;

constexpr std::size_t kMaxForeignText = 2048;

std::string field(const Json& object, std::string_view key) {
  return std::string(base::text_of(base::find(object, key)));
}

std::int64_t number(const Json* value) {
  return value != nullptr && value->is_number_integer() ? value->get<std::int64_t>() : 0;
}

std::vector<StatusCause> causes_of(const Json& status) {
  std::vector<StatusCause> causes;
  const Json* list = base::find(status, "details", "causes");
  if (list == nullptr || !list->is_array()) {
    return causes;
  }
  for (const Json& cause : *list) {
    causes.push_back({field(cause, "reason"), field(cause, "message"), field(cause, "field")});
  }
  return causes;
}

/// What a proxy or an HTML page says, on one line and not for ever.
std::string foreign_text(std::string_view body) {
  std::string text(body.substr(0, kMaxForeignText));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c >= 0 && c < ' '; }, ' ');
  text.erase(text.find_last_not_of(' ') + 1);
  return text.empty() ? "no explanation" : text;
}

bool version_not_reached(const StatusError& status) {
  const auto too_large = [](const StatusCause& cause) {
    return cause.type == "ResourceVersionTooLarge";
  };
  return std::any_of(status.causes.begin(), status.causes.end(), too_large) ||
         (status.reason == "Timeout" &&
          status.message.find("Too large resource version") != std::string::npos);
}

ErrorCode conflict_code(const StatusError& status) {
  return status.reason == "AlreadyExists" ? ErrorCode::AlreadyExists : ErrorCode::Conflict;
}

ErrorCode server_fault_code(const StatusError& status) {
  const bool nobody_answered = status.code == 502 || status.code == 503 || status.code == 504 ||
                               status.reason == "ServerTimeout" || status.reason == "Timeout";
  return nobody_answered ? ErrorCode::Unavailable : ErrorCode::Internal;
}

ErrorCode code_of(const StatusError& status) {
  if (status.reason == "Expired" || version_not_reached(status)) {
    return ErrorCode::Expired;
  }
  switch (status.code) {
    case 401:
      return ErrorCode::Unauthorized;
    case 403:
      return ErrorCode::Forbidden;
    case 404:
      return ErrorCode::NotFound;
    case 408:
      return ErrorCode::Unavailable;
    case 409:
      return conflict_code(status);
    case 410:
      return ErrorCode::Expired;
    case 429:
      return ErrorCode::TooManyRequests;
    default:
      break;
  }
  const bool our_fault = status.code >= 400 && status.code < 500;
  return our_fault ? ErrorCode::InvalidInput : server_fault_code(status);
}

}  // namespace

StatusError parse_status(const Json& status) {
  StatusError error;
  error.code =
      static_cast<int>(std::clamp<std::int64_t>(number(base::find(status, "code")), 0, 999));
  error.reason = field(status, "reason");
  error.message = field(status, "message");
  error.causes = causes_of(status);
  const std::int64_t seconds = number(base::find(status, "details", "retryAfterSeconds"));
  if (seconds > 0) {
    error.retry_after = std::chrono::seconds(seconds);
  }
  return error;
}

StatusError parse_status(int http_code, std::string_view body) {
  StatusError error;
  const base::Result<Json> parsed = base::read_json(body);
  const bool is_status = parsed && base::text_of(base::find(parsed.value(), "kind")) == "Status";
  if (is_status) {
    error = parse_status(parsed.value());
  }
  error.code = http_code;
  if (error.message.empty()) {
    error.message = is_status ? "no explanation" : foreign_text(body);
  }
  return error;
}

Error to_error(const StatusError& status) {
  const std::string reason = status.reason.empty() ? "HTTP" : status.reason;
  const std::string code = std::to_string(status.code);
  const std::string head = status.reason.empty() ? reason + " " + code : reason + " (" + code + ")";
  return {code_of(status), head + ": " + status.message};
}

}  // namespace injector::kube
