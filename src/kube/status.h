// The API server's refusals: a metav1.Status body, or whatever a proxy in between wrote instead.
//
// All functions are pure and may be called from any thread.

#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace injector::kube {

struct StatusCause {
  std::string type;  // "FieldValueInvalid", "DisruptionBudget", ...
  std::string message;
  std::string field;
};

struct StatusError {
  int code = 0;        // HTTP.
  std::string reason;  // "NotFound", "Expired", ...; empty where the body is no Status.
  std::string message;
  std::vector<StatusCause> causes;
  std::optional<std::chrono::seconds> retry_after;  // details.retryAfterSeconds
};

/// Of an answer that is not 2xx. Never fails: a body that is no Status becomes the message, cut to
/// 2048 bytes.
[[nodiscard]] StatusError parse_status(int http_code, std::string_view body);

/// Of a Status object, such as a watch's ERROR event carries.
[[nodiscard]] StatusError parse_status(const base::Json& status);

/// The code by HTTP code and reason (see base/result.h), the message "Forbidden (403): ...".
/// A resource version that the server has not reached yet is Expired like one that is too old: the
/// cure for both is a new list.
[[nodiscard]] base::Error to_error(const StatusError& status);

}  // namespace injector::kube
