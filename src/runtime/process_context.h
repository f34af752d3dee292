// The LoopContext of a program: the real clock, real waiting and a seed of this moment.

#pragma once

#include <cstdint>
#include <random>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "runtime/loop_context.h"
#include "runtime/sleeper.h"

namespace injector::runtime {

/// Outlives the loops that use it.
class ProcessContext {
 public:
  explicit ProcessContext(base::Logger log)
      : log_(std::move(log)),
        seed_(std::random_device()()) {}

  [[nodiscard]] LoopContext get() { return {clock_, sleeper_, log_, seed_}; }

 private:
  base::SteadyClock clock_;
  SteadySleeper sleeper_;
  base::Logger log_;
  std::uint64_t seed_;
};

}  // namespace injector::runtime
