#include "kube/line_stream.h"

#include <string_view>
#include <utility>

#include "base/until.h"

namespace injector::kube {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

bool blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string::npos;
}

}  // namespace

LineStream::LineStream(std::unique_ptr<http::Exchange> exchange, std::size_t max_line,
                       base::TimePoint deadline)
    : exchange_(std::move(exchange)),
      max_line_(max_line),
      deadline_(deadline) {}

std::optional<std::string> LineStream::take_line() {
  const std::size_t end = buffer_.find('\n', scanned_);
  if (end == std::string::npos) {
    scanned_ = buffer_.size();
    return std::nullopt;
  }
  std::string line = buffer_.substr(used_, end - used_);
  used_ = end + 1;
  scanned_ = used_;
  return line;
}

/// False: the response is complete.
Result<bool> LineStream::fill(const std::stop_token& stop) {
  buffer_.erase(0, used_);
  scanned_ -= used_;
  used_ = 0;
  if (buffer_.size() > max_line_) {
    return Error{ErrorCode::Internal, "a line is too long"};
  }
  return exchange_->read(buffer_, base::Until{stop, deadline_});
}

Result<std::optional<std::string>> LineStream::next(const std::stop_token& stop) {
  for (;;) {
    if (stop.stop_requested()) {
      return base::cancelled();
    }
    if (std::optional<std::string> line = take_line()) {
      if (blank(*line)) {
        continue;
      }
      return line;
    }
    const Result<bool> more = fill(stop);
    if (!more) {
      return more.error();
    }
    if (!more.value() && blank(buffer_)) {
      return std::optional<std::string>();
    }
    if (!more.value()) {
      return Error{ErrorCode::Unavailable, "the stream ended in the middle of a line"};
    }
  }
}

}  // namespace injector::kube
