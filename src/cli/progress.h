// A line that counts on a terminal while a long run says nothing else.

#pragma once

#include <cstddef>
#include <ostream>

namespace injector::cli {

class Progress {
 public:
  Progress(std::ostream& err, bool enabled)
      : err_(err),
        enabled_(enabled) {}

  void count() {
    ++objects_;
    if (enabled_ && objects_ % kEvery == 0) {
      err_ << "\r" << objects_ << " objects" << std::flush;
      shown_ = true;
    }
  }

  /// Takes the line away, before anything else is written.
  void clear() {
    if (shown_) {
      err_ << "\r\033[K" << std::flush;
      shown_ = false;
    }
  }

 private:
  static constexpr std::size_t kEvery = 50;

  std::ostream& err_;  // Not owned.
  bool enabled_;
  bool shown_ = false;
  std::size_t objects_ = 0;
};

}  // namespace injector::cli
