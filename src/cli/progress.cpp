#include "cli/progress.h"

#include <utility>

#include <fmt/format.h>

namespace injector::cli {

Progress::Progress(std::ostream& err, bool enabled, std::string what, ProgressPace pace)
    : err_(err),
      pace_(pace),
      what_(std::move(what)) {
  if (enabled) {
    thread_ = std::jthread([this](const std::stop_token& stop) { draw(stop); });
  }
}

void Progress::doing(std::string what) {
  const base::MutexLock lock(mutex_);
  what_ = std::move(what);
}

void Progress::clear() {
  thread_.request_stop();
  if (thread_.joinable()) {
    thread_.join();
  }
}

std::string Progress::line(std::chrono::seconds elapsed) {
  const std::size_t objects = objects_.load(std::memory_order_relaxed);
  return fmt::format("{}{} ({} s)", what_, objects == 0 ? "" : fmt::format(": {}", objects),
                     elapsed.count());
}

void Progress::draw(const std::stop_token& stop) {
  const auto start = std::chrono::steady_clock::now();
  bool shown = false;
  for (auto pause = pace_.first;; pause = pace_.next) {
    std::string text;
    {
      const base::MutexLock lock(mutex_);
      woken_.wait_for(mutex_, stop, pause, [] { return false; });
      text = line(std::chrono::duration_cast<std::chrono::seconds>(
          std::chrono::steady_clock::now() - start));
    }
    if (stop.stop_requested()) {
      break;
    }
    err_ << "\r" << text << "\033[K" << std::flush;
    shown = true;
  }
  if (shown) {
    err_ << "\r\033[K" << std::flush;
  }
}

}  // namespace injector::cli
