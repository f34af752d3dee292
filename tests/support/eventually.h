// Waiting for something outside this program, which can be asked but does not call back.

#pragma once

#include <chrono>
#include <thread>

namespace injector::tests {

/// Asks until the answer is yes, or the deadline (generous: it only limits how long a failure
/// takes) has passed. Use a latch where the event is in this program.
template <typename Predicate>
bool eventually(Predicate&& holds, std::chrono::milliseconds deadline = std::chrono::seconds{60}) {
  constexpr std::chrono::milliseconds kPause{50};
  const auto until = std::chrono::steady_clock::now() + deadline;
  while (!holds()) {
    if (std::chrono::steady_clock::now() >= until) {
      return false;
    }
    std::this_thread::sleep_for(kPause);
  }
  return true;
}

}  // namespace injector::tests
