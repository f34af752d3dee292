#include "base/event_fd.h"

#include <poll.h>

#include <catch2/catch.hpp>

namespace injector::base {
namespace {

bool readable(const EventFd& event) {
  pollfd polled{event.fd(), POLLIN, 0};
  return ::poll(&polled, 1, 0) == 1;
}

TEST_CASE("event fd: readable from notify to clear, however often it was notified", "[base]") {
  const EventFd event;
  CHECK_FALSE(readable(event));
  event.notify();
  event.notify();
  CHECK(readable(event));
  event.clear();
  CHECK_FALSE(readable(event));
  event.clear();  // Does not block.
}

}  // namespace
}  // namespace injector::base
