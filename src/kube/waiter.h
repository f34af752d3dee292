// A wait on a file descriptor that a stop token can end.

#pragma once

#include "base/file_descriptor.h"
#include "base/result.h"
#include "kube/until.h"

namespace injector::kube {

/// Waits for other descriptors. Used by one thread at a time; a stop may come from any.
class Waiter {
 public:
  Waiter();

  /// Returns when poll(2) reports any of `events`, an error or a hang-up on `fd`.
  [[nodiscard]] base::Result<void> wait(int fd, short events, const Until& until) const;

 private:
  base::FileDescriptor wake_;  // An eventfd that a stop writes to.
};

/// "connect: connection refused".
[[nodiscard]] base::Error system_error(const char* what, int number);

}  // namespace injector::kube
