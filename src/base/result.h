// Result<T> is how a function reports a failure that comes from outside this process: the
// network, a file, a user's YAML. A broken invariant is a bug, not an Error; see base/check.h.
//
// The API is the useful subset of C++23 std::expected, so it can become an alias for it.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace injector::base {

enum class ErrorCode {
  InvalidInput,     // Malformed or not allowed, here or by the API server (400, 415, 422).
  Unauthorized,     // 401.
  Forbidden,        // 403.
  NotFound,         // No such file, object or kind (404).
  AlreadyExists,    // 409, reason AlreadyExists.
  Conflict,         // 409: somebody else wrote first.
  Expired,          // 410: the resource version or continue token is too old.
  TooManyRequests,  // 429.
  Unavailable,      // Nobody answered: refused, reset, timed out, 503, 504.
  Internal,         // The other side failed (other 5xx) or answered nonsense.
  Cancelled,        // We were asked to stop.
};

struct Error {
  ErrorCode code = ErrorCode::Unavailable;
  std::string message;
};

/// Prefixes `error` with what the caller was doing: "load template: line 3: bad indent".
[[nodiscard]] Error annotate(Error error, std::string_view context);

/// The usual failure: what somebody gave us cannot be used.
[[nodiscard]] inline Error invalid(std::string message) {
  return Error{ErrorCode::InvalidInput, std::move(message)};
}

template <class T>
class [[nodiscard]] Result {
 public:
  // Implicit on purpose: `return pod;` and `return Error{...};` both read well.
  Result(T value)  // NOLINT(google-explicit-constructor)
      : state_(std::in_place_index<0>, std::move(value)) {}

  Result(Error error)  // NOLINT(google-explicit-constructor)
      : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool has_value() const noexcept { return state_.index() == 0; }

  explicit operator bool() const noexcept { return has_value(); }

  [[nodiscard]] const T& value() const& { return std::get<0>(state_); }

  [[nodiscard]] T& value() & { return std::get<0>(state_); }

  [[nodiscard]] T&& value() && { return std::get<0>(std::move(state_)); }

  [[nodiscard]] const Error& error() const& { return std::get<1>(state_); }

  [[nodiscard]] Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

/// Success carries nothing: `return {};`
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;

  Result(Error error)  // NOLINT(google-explicit-constructor)
      : error_(std::move(error)) {}

  [[nodiscard]] bool has_value() const noexcept { return !error_.has_value(); }

  explicit operator bool() const noexcept { return has_value(); }

  [[nodiscard]] const Error& error() const& { return *error_; }

  [[nodiscard]] Error&& error() && { return *std::move(error_); }

 private:
  std::optional<Error> error_;
};

}  // namespace injector::base

#define INJ_RESULT_JOIN_2(left, right) left##right
#define INJ_RESULT_JOIN(left, right) INJ_RESULT_JOIN_2(left, right)
#define INJ_ASSIGN_FROM(result, target, expression) \
  auto result = (expression);                       \
  if (!result) {                                    \
    return std::move(result).error();               \
  }                                                 \
  target = std::move(result).value()

/// Passes a failure on to the caller: INJ_TRY(write_file(path, text));
#define INJ_TRY(...)                        \
  if (auto tried = (__VA_ARGS__); !tried) { \
    return std::move(tried).error();        \
  }                                         \
  static_assert(true)  // Takes the semicolon.

/// The same for a value: INJ_ASSIGN(const auto text, read_file(path));
#define INJ_ASSIGN(target, ...) \
  INJ_ASSIGN_FROM(INJ_RESULT_JOIN(assigned_, __LINE__), target, (__VA_ARGS__))
