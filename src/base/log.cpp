#include "base/log.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <iterator>
#include <mutex>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>

#include "base/json.h"
#include "base/json_string.h"
#include "base/log_writer.h"
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

/// Queues lines for standard error; LogWriter has a lock of its own.
class StandardErrorSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  explicit StandardErrorSink(LogWriter& writer)
      : writer_(writer) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    writer_.add(std::string_view(message.payload.data(), message.payload.size()));
  }

  void flush_() override {}

  LogWriter& writer_;  // Not owned; lives as long as the process.
};

std::shared_ptr<spdlog::logger> logger_on(spdlog::sink_ptr sink) {
  auto logger = std::make_shared<spdlog::logger>("", std::move(sink));
  logger->set_level(spdlog::level::trace);
  return logger;
}

// The date and time of a second are the same for a thousand lines.
void append_timestamp(std::string& line) {
  struct Second {
    std::time_t time = -1;
    std::array<char, 24> text{};
    std::size_t size = 0;
  };

  thread_local Second second;
  const auto now = std::chrono::system_clock::now();
  const std::time_t time = std::chrono::system_clock::to_time_t(now);
  if (time != second.time) {
    std::tm utc{};
    gmtime_r(&time, &utc);
    second.time = time;
    second.size = std::strftime(second.text.data(), second.text.size(), "%Y-%m-%dT%H:%M:%S", &utc);
  }
  const auto millis =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  line.append(second.text.data(), second.size);
  fmt::format_to(std::back_inserter(line), ".{:03}Z", millis);
}

// Whoever logs bounds what others wrote; this is for what was forgotten.
constexpr std::size_t kFieldLimit = 4096;
constexpr std::size_t kKeptLine = std::size_t{16} << 10U;

bool is_plain_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

void append_quoted(std::string& line, std::string_view text) {
  if (is_plain_ascii(text)) {
    append_json_string(line, text);
  } else {
    line += escape_json_text(to_text(Json(text)));
  }
}

bool needs_quotes(std::string_view text) {
  return text.empty() || text.find_first_of(" \"=\\") != std::string_view::npos ||
         !(is_plain_ascii(text) || !needs_escapes(text));
}

void append_text(std::string& line, std::string_view text, LogFormat format) {
  const std::string cut = text.size() > kFieldLimit ? shortened(text, kFieldLimit) : std::string();
  const std::string_view bounded = cut.empty() ? text : cut;
  if (format == LogFormat::Json || needs_quotes(bounded)) {
    append_quoted(line, bounded);
  } else {
    line += bounded;
  }
}

void append_value(std::string& line, const LogField::Value& value, LogFormat format) {
  if (const auto* text = std::get_if<std::string_view>(&value)) {
    append_text(line, *text, format);
  } else if (const auto* number = std::get_if<std::int64_t>(&value)) {
    fmt::format_to(std::back_inserter(line), "{}", *number);
  } else if (const auto* real = std::get_if<double>(&value)) {
    fmt::format_to(std::back_inserter(line), "{:.6g}", *real);
  } else {
    line += std::get<bool>(value) ? "true" : "false";
  }
}

void append_json_line(std::string& line, LogLevel level, std::string_view message,
                      Logger::Fields fields) {
  line += R"({"time":")";
  append_timestamp(line);
  line += R"(","level":")";
  line += kLevelNames.at(static_cast<std::size_t>(level));
  line += R"(","msg":)";
  append_quoted(line, message);
  for (const LogField& field : fields) {
    line += ',';
    append_quoted(line, field.key);
    line += ':';
    append_value(line, field.value, LogFormat::Json);
  }
  line += '}';
}

void append_text_line(std::string& line, LogLevel level, std::string_view message,
                      Logger::Fields fields) {
  append_timestamp(line);
  line += ' ';
  line += kLevelTags.at(static_cast<std::size_t>(level));
  line += ' ';
  line += message;
  for (const LogField& field : fields) {
    line += ' ';
    line += field.key;
    line += '=';
    append_value(line, field.value, LogFormat::Text);
  }
}

void append_line(std::string& line, LogFormat format, LogLevel level, std::string_view message,
                 Logger::Fields fields) {
  format == LogFormat::Json ? append_json_line(line, level, message, fields)
                            : append_text_line(line, level, message, fields);
}

bool writes_to_standard_error(const spdlog::logger& logger) {
  return dynamic_cast<const StandardErrorSink*>(logger.sinks().front().get()) != nullptr;
}

std::string dropped_line(LogFormat format, std::uint64_t dropped) {
  std::string line;
  append_line(line, format, LogLevel::Warn, "log lines dropped: standard error was too slow",
              {{"count", dropped}});
  return line;
}

// Null until the first logger that writes there. Never destroyed, only emptied: threads may log
// until the process has gone.
std::atomic<LogWriter*> standard_error{nullptr};    // NOLINT: there is one standard error.
std::terminate_handler terminate_before = nullptr;  // NOLINT: likewise.

[[noreturn]] void flush_and_terminate() {
  flush_standard_error();
  if (terminate_before != nullptr) {
    terminate_before();
  }
  std::abort();
}

LogWriter& writer_of_standard_error(LogFormat format) {
  static const bool made = [format] {
    LogWriter::Options options;
    options.report = [format](std::uint64_t dropped) { return dropped_line(format, dropped); };
    standard_error = new LogWriter(STDERR_FILENO, std::move(options));  // NOLINT: see above.
    terminate_before = std::set_terminate(flush_and_terminate);
    std::atexit(
        flush_standard_error);  // NOLINT(cert-err33-c): without room for it, lines are lost.
    return true;
  }();
  static_cast<void>(made);
  return *standard_error;
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
      out_(logger_on(std::make_shared<StandardErrorSink>(writer_of_standard_error(format)))) {}

Logger::Logger(LogFormat format, LogLevel level, Sink sink)
    : format_(format),
      level_(level),
      out_(logger_on(std::make_shared<CallbackSink>(std::move(sink)))) {}

Logger Logger::silent() {
  Logger logger(LogFormat::Text, LogLevel::Error, Sink());
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
  if (writes_to_standard_error(*out_) && !standard_error.load()->has_room()) {
    return;  // It would be dropped: not worth formatting.
  }
  thread_local std::string kept;  // Its memory serves the next line.
  std::string line = std::exchange(kept, {});
  line.clear();
  append_line(line, format_, level, message, fields);
  out_->log(spdlog::level::info, spdlog::string_view_t(line.data(), line.size()));
  if (line.capacity() <= kKeptLine) {
    kept = std::move(line);
  }
}

void flush_standard_error() noexcept {
  constexpr Duration kPatience{1000};
  try {
    if (LogWriter* writer = standard_error) {
      writer->flush(kPatience);
    }
  } catch (...) {  // NOLINT(bugprone-empty-catch): the process ends, and has said what it could.
  }
}

std::uint64_t dropped_log_lines() noexcept {
  const LogWriter* writer = standard_error;
  return writer == nullptr ? 0 : writer->dropped();
}

}  // namespace injector::base
