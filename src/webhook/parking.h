// Connections that wait for their clients without a thread. Parked ones are watched by epoll; a
// worker takes one as soon as its client has sent something.
//
// All functions may be called from any thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/file_descriptor.h"
#include "base/mutex.h"
#include "webhook/connection.h"
#include "webhook/seats.h"

namespace injector::webhook {

class Parking {
 public:
  using ConnectionPtr = std::unique_ptr<Connection>;

  struct Taken {
    ConnectionPtr connection;  // Null: the wait timed out, or somebody was faster.
    bool dismissed = false;    // dismiss() was called: the worker should leave.
    bool timed_out = false;
  };

  Parking();

  /// False if the kernel cannot give us what we need.
  [[nodiscard]] bool ready() const noexcept {
    return static_cast<bool>(epoll_) && dismissal_.fd() >= 0;
  }

  /// Until the client sends something, or somebody takes it after `deadline`. Where the kernel
  /// refuses to watch it, it is closed.
  void park(ConnectionPtr connection, base::TimePoint deadline) INJ_EXCLUDES(mutex_);

  /// Waits for a readable connection and hands it to the caller.
  [[nodiscard]] Taken take_readable(base::Duration patience) INJ_EXCLUDES(mutex_);

  /// From now on every take_readable() returns at once.
  void dismiss() noexcept;

  /// Those for which `unwanted` says so, longest parked first; `most` at most. It is called with
  /// the parking locked and must not call back.
  using Predicate = std::function<bool(const Connection&, base::TimePoint deadline)>;
  [[nodiscard]] std::vector<ConnectionPtr> take_if(const Predicate& unwanted, std::size_t most)
      INJ_EXCLUDES(mutex_);

  /// The earliest deadline of all, or `otherwise`.
  [[nodiscard]] base::TimePoint next_deadline(base::TimePoint otherwise) const INJ_EXCLUDES(mutex_);

  [[nodiscard]] std::size_t size() const INJ_EXCLUDES(mutex_);

 private:
  struct Parked {
    ConnectionPtr connection;
    base::TimePoint deadline;
  };

  [[nodiscard]] ConnectionPtr take(std::uint64_t ticket) INJ_EXCLUDES(mutex_);

  base::FileDescriptor epoll_;
  Bell dismissal_;
  mutable base::Mutex mutex_;
  // By ticket, a new one for each stay: the order is that of parking, and an event for a stay that
  // is over finds nothing.
  std::map<std::uint64_t, Parked> parked_ INJ_GUARDED_BY(mutex_);
  std::uint64_t last_ticket_ INJ_GUARDED_BY(mutex_) = 0;
};

}  // namespace injector::webhook
