// A response without an end, line by line.

#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "http/client.h"

namespace injector::kube {

/// Used by one thread; may outlive its client.
class LineStream {
 public:
  LineStream(std::unique_ptr<http::Exchange> exchange, std::size_t max_line,
             base::TimePoint deadline);

  /// The next line that is not blank, without its newline. Empty: the response ended in good order
  /// after a whole line. An Error: it broke off, or `stop` was requested.
  [[nodiscard]] base::Result<std::optional<std::string>> next(const std::stop_token& stop);

 private:
  [[nodiscard]] std::optional<std::string> take_line();
  [[nodiscard]] base::Result<bool> fill(const std::stop_token& stop);

  std::unique_ptr<http::Exchange> exchange_;
  std::size_t max_line_;
  base::TimePoint deadline_;
  std::string buffer_;
  std::size_t used_ = 0;     // Bytes of buffer_ that were handed out.
  std::size_t scanned_ = 0;  // No newline between used_ and here.
};

}  // namespace injector::kube
