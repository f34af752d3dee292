#include "base/log.h"

#include <array>
#include <chrono>
#include <ctime>
#include <mutex>
#include <utility>

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "base/json.h"
#include "base/printable.h"

namespace injector::base {
namespace {

constexpr std::array<std::string_view, 4> kLevelNames = {"debug", "info", "warn", "error"};
constexpr std::array<std::string_view, 4> kLevelTags = {"DEBUG", "INFO", "WARN", "ERROR"};

class CallbackSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit CallbackSink(Logger::Sink callback)
      : callback_(std::move(callback)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    callback_(std::string_view(message.payload.data(), message.payload.size()));
  }

  void flush_() override {}

  Logger::Sink callback_;
};

std::shared_ptr<spdlog::logger> logger_on(spdlog::sink_ptr sink) {
  sink->set_pattern("%v");
  auto logger = std::make_shared<spdlog::logger>("", std::move(sink));
  logger->set_level(spdlog::level::trace);
  return logger;
}

std::string timestamp() {
  const auto now = std::chrono::system_clock::now();
  const auto millis =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  std::array<char, 32> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &utc);
  return fmt::format("{}.{:03}Z", std::string_view(text.data(), size), millis);
}

// Whoever logs bounds what others wrote; this is for what was forgotten.
constexpr std::size_t kFieldLimit = 4096;

std::string json_quoted(std::string_view text) {
  return escape_json_text(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace));
}

bool needs_quotes(std::string_view text) {
  return text.empty() || text.find_first_of(" \"=\\") != std::string_view::npos ||
         needs_escapes(text);
}

std::string text_value(std::string_view text, LogFormat format) {
  const std::string bounded = shortened(text, kFieldLimit);
  return format == LogFormat::Json || needs_quotes(bounded) ? json_quoted(bounded) : bounded;
}

void append_value(std::string& line, const LogField::Value& value, LogFormat format) {
  if (const auto* text = std::get_if<std::string_view>(&value)) {
    line += text_value(*text, format);
  } else if (const auto* number = std::get_if<std::int64_t>(&value)) {
    line += fmt::format("{}", *number);
  } else if (const auto* real = std::get_if<double>(&value)) {
    line += fmt::format("{:.6g}", *real);
  } else {
    line += std::get<bool>(value) ? "true" : "false";
  }
}

template <class T>
std::optional<T> parse_name(std::string_view text, std::initializer_list<std::string_view> names) {
  int index = 0;
  for (const std::string_view name : names) {
    if (name == text) {
      return static_cast<T>(index);
    }
    ++index;
  }
  return std::nullopt;
}

}  // namespace

std::optional<LogLevel> parse_log_level(std::string_view text) {
  return parse_name<LogLevel>(text, {"debug", "info", "warn", "error"});
}

std::optional<LogFormat> parse_log_format(std::string_view text) {
  return parse_name<LogFormat>(text, {"text", "json"});
}

Logger::Logger(LogFormat format, LogLevel level)
    : format_(format),
      level_(level),
      out_(logger_on(std::make_shared<spdlog::sinks::stderr_sink_mt>())) {}

Logger::Logger(LogFormat format, LogLevel level, Sink sink)
    : format_(format),
      level_(level),
      out_(logger_on(std::make_shared<CallbackSink>(std::move(sink)))) {}

Logger Logger::silent() {
  Logger logger(LogFormat::Text, LogLevel::Error);
  logger.out_ = nullptr;
  return logger;
}

bool Logger::enabled(LogLevel level) const noexcept {
  return out_ != nullptr && level >= level_;
}

void Logger::debug(std::string_view message, Fields fields) const {
  write(LogLevel::Debug, message, fields);
}

void Logger::info(std::string_view message, Fields fields) const {
  write(LogLevel::Info, message, fields);
}

void Logger::warn(std::string_view message, Fields fields) const {
  write(LogLevel::Warn, message, fields);
}

void Logger::error(std::string_view message, Fields fields) const {
  write(LogLevel::Error, message, fields);
}

void Logger::write(LogLevel level, std::string_view message, Fields fields) const {
  if (!enabled(level)) {
    return;
  }
  const auto index = static_cast<std::size_t>(level);
  const bool json = format_ == LogFormat::Json;
  std::string line = json ? fmt::format(R"({{"time":"{}","level":"{}","msg":{})", timestamp(),
                                        kLevelNames.at(index), json_quoted(message))
                          : fmt::format("{} {} {}", timestamp(), kLevelTags.at(index), message);
  for (const LogField& field : fields) {
    line += json ? fmt::format(",{}:", json_quoted(field.key)) : fmt::format(" {}=", field.key);
    append_value(line, field.value, format_);
  }
  if (json) {
    line += '}';
  }
  out_->log(spdlog::level::info, spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace injector::base
