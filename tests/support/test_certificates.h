// Certificates for a day, and log lines to look at.

#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "tests/support/eventually.h"
#include "tls/certificate.h"
#include "tls/server_context.h"

namespace injector::tests {

inline constexpr int kPatienceSeconds = 30;

inline tls::Validity one_day() {
  return {std::chrono::system_clock::now(), std::chrono::hours(24)};
}

inline tls::KeyPair test_ca(const std::string& name = "test-ca") {
  return tls::make_ca(name, one_day()).value();
}

inline tls::KeyPair test_serving(const tls::KeyPair& ca, const std::string& name = "localhost") {
  return tls::make_serving_certificate(ca, {name, "127.0.0.1"}, one_day()).value();
}

inline tls::ServerPem to_pem(const tls::KeyPair& pair, const std::string& client_ca = "") {
  return {pair.certificate.pem(), pair.key.pem(), client_ca};
}

/// Collects log lines from any thread.
class LogLines {
 public:
  [[nodiscard]] base::Logger logger(base::LogLevel level = base::LogLevel::Debug) {
    return base::Logger(base::LogFormat::Text, level, [this](std::string_view line) {
      const std::lock_guard<std::mutex> lock(mutex_);
      lines_.emplace_back(line);
    });
  }

  [[nodiscard]] std::size_t count(std::string_view text) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return static_cast<std::size_t>(std::count_if(
        lines_.begin(), lines_.end(),
        [text](const std::string& line) { return line.find(text) != std::string::npos; }));
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

}  // namespace injector::tests
