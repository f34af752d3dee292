// One line an event: a constant message, the data in keys. Loops, the server and app log;
// everything else returns its errors.
//
//   log.info("template loaded", {{"hash", hash}, {"containers", count}});
//
// text: 2026-01-02T03:04:05.678Z INFO template loaded hash=sha256:12ab containers=1
// json: {"time":"2026-01-02T03:04:05.678Z","level":"info","msg":"template loaded","hash":...}
//
// A Logger is a cheap handle that may be copied and used from any thread.

#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

namespace spdlog {
class logger;
}

namespace injector::base {

enum class LogLevel { Debug, Info, Warn, Error };

// g++ takes the scoped enumerator for one that hides base::Json.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
enum class LogFormat { Text, Json };
#pragma GCC diagnostic pop

[[nodiscard]] std::optional<LogLevel> parse_log_level(std::string_view text);
[[nodiscard]] std::optional<LogFormat> parse_log_format(std::string_view text);

struct LogField {
  using Value = std::variant<std::string_view, std::int64_t, double, bool>;

  template <class T>
  LogField(std::string_view field_key, const T& field_value)
      : key(field_key),
        value(to_value(field_value)) {}

  std::string_view key;
  Value value;

 private:
  template <class T>
  static Value to_value(const T& from) {
    if constexpr (std::is_same_v<T, bool>) {
      return from;
    } else if constexpr (std::is_integral_v<T>) {
      return static_cast<std::int64_t>(from);
    } else if constexpr (std::is_floating_point_v<T>) {
      return static_cast<double>(from);
    } else {
      return std::string_view(from);
    }
  }
};

class Logger {
 public:
  using Fields = std::initializer_list<LogField>;
  using Sink = std::function<void(std::string_view line)>;

  /// Writes to standard error.
  Logger(LogFormat format, LogLevel level);

  /// Hands each finished line (no newline) to `sink`, one at a time: for tests.
  Logger(LogFormat format, LogLevel level, Sink sink);

  /// Says nothing.
  [[nodiscard]] static Logger silent();

  void debug(std::string_view message, Fields fields = {}) const;
  void info(std::string_view message, Fields fields = {}) const;
  void warn(std::string_view message, Fields fields = {}) const;
  void error(std::string_view message, Fields fields = {}) const;

  [[nodiscard]] bool enabled(LogLevel level) const noexcept;

 private:
  void write(LogLevel level, std::string_view message, Fields fields) const;

  LogFormat format_;
  LogLevel level_;
  std::shared_ptr<spdlog::logger> out_;  // Null: silent.
};

}  // namespace injector::base
