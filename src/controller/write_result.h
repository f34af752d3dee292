// What an API server's answer to a write means for a control loop. Pure; any thread.

#pragma once

#include "base/result.h"
#include "controller/metrics.h"
#include "runtime/controller.h"

namespace injector::controller {

[[nodiscard]] WriteResult result_of(const base::Error& error) noexcept;

template <class T>
[[nodiscard]] WriteResult result_of(const base::Result<T>& answer) {
  return answer ? WriteResult::Done : result_of(answer.error());
}

/// Gone is done: there is nothing left to do. So is Cancelled: the next start lists everything
/// again. What the server will never accept is given up. All else is tried again; of a Conflict the
/// newer version is on its way to us.
[[nodiscard]] runtime::Outcome outcome_of(const base::Error& error);

}  // namespace injector::controller
