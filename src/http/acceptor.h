// Accepts connections and hands each to the loop that has the fewest. At the limit on connections,
// and where the process runs out of descriptors, a connection that can be spared makes room; where
// none can be, clients wait in the kernel's backlog.
//
// accept() belongs to the first loop's thread.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/log.h"
#include "http/event_loop.h"
#include "http/listener.h"

namespace injector::http {

class Acceptor {
 public:
  using Loops = std::vector<std::unique_ptr<EventLoop>>;

  /// `loops` and `shared` are not owned and outlive this.
  Acceptor(Listener listener, Loops& loops, LoopShared& shared);

  void accept();

  [[nodiscard]] int fd() const noexcept { return listener_.socket.get(); }

  [[nodiscard]] std::uint16_t port() const noexcept { return listener_.port; }

  /// Any thread.
  [[nodiscard]] std::uint64_t accepted() const noexcept { return accepted_; }

 private:
  [[nodiscard]] bool somebody_waits() const noexcept;
  [[nodiscard]] bool newcomers_unknown() const noexcept;
  [[nodiscard]] bool accept_one();
  [[nodiscard]] bool make_room();
  void report_exhaustion(int error);
  void set_starved(bool starved);

  [[nodiscard]] EventLoop& first() const noexcept { return *loops_.front(); }

  Listener listener_;
  Loops& loops_;
  LoopShared& shared_;
  bool exhausted_ = false;  // The last accept failed for want of something.
  std::atomic<std::uint64_t> accepted_{0};
};

}  // namespace injector::http
