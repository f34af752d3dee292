// Counts open connections. A connection holds a Seat for as long as it lives.
//
// All functions may be called from any thread.

#pragma once

#include <atomic>
#include <cstddef>
#include <utility>

#include "base/file_descriptor.h"

namespace injector::webhook {

/// An eventfd: rung from any thread, heard by poll().
class Bell {
 public:
  Bell();

  void ring() const noexcept;

  /// Makes it silent again.
  void hush() const noexcept;

  /// Readable while it rings.
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }

 private:
  base::FileDescriptor fd_;
};

class Seats {
 public:
  [[nodiscard]] std::size_t taken() const noexcept { return taken_; }

  /// Rings when a seat is given back.
  [[nodiscard]] const Bell& bell() const noexcept { return bell_; }

 private:
  friend class Seat;

  std::atomic<std::size_t> taken_{0};
  Bell bell_;
};

class Seat {
 public:
  /// `seats` is not owned and outlives the seat.
  explicit Seat(Seats& seats) noexcept
      : seats_(&seats) {
    ++seats.taken_;
  }

  Seat(Seat&& other) noexcept
      : seats_(std::exchange(other.seats_, nullptr)) {}

  Seat(const Seat&) = delete;
  Seat& operator=(const Seat&) = delete;
  Seat& operator=(Seat&&) = delete;

  ~Seat() {
    if (seats_ != nullptr) {
      --seats_->taken_;
      seats_->bell_.ring();
    }
  }

 private:
  Seats* seats_;
};

}  // namespace injector::webhook
