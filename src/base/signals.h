// Signals as values. Construct it before any thread starts: from then on no signal interrupts
// anything, and the one thread that asks gets them.

#pragma once

#include <chrono>
#include <csignal>
#include <optional>

namespace injector::base {

enum class Signal { Stop, Reload };

class SignalQueue {
 public:
  SignalQueue() {
    ::sigemptyset(&set_);
    for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
      ::sigaddset(&set_, number);
    }
    ::pthread_sigmask(SIG_BLOCK, &set_, nullptr);
    std::signal(SIGPIPE, SIG_IGN);  // NOLINT(cert-err33-c): it cannot fail.
  }

  /// The next signal, or nothing after `patience`.
  [[nodiscard]] std::optional<Signal> wait(std::chrono::milliseconds patience) const {
    constexpr long kNanosecondsPerMillisecond = 1'000'000;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(patience);
    const timespec limit{seconds.count(), static_cast<long>((patience - seconds).count()) *
                                              kNanosecondsPerMillisecond};
    const int number = ::sigtimedwait(&set_, nullptr, &limit);
    if (number < 0) {
      return std::nullopt;
    }
    return number == SIGHUP ? Signal::Reload : Signal::Stop;
  }

  /// Blocks until a Stop comes. A Reload is not heard.
  void wait_for_stop() const {
    while (wait(std::chrono::minutes(1)) != Signal::Stop) {
    }
  }

 private:
  sigset_t set_{};
};

}  // namespace injector::base
