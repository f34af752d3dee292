// What every loop of this folder takes from outside: time, waiting, randomness and a log. The
// application makes one and hands it down; a test makes one that stands still.

#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/log.h"
#include "runtime/sleeper.h"

namespace injector::runtime {

struct LoopContext {
  const base::Clock& clock;  // Not owned; outlives every loop.
  Sleeper& sleeper;          // Not owned; outlives every loop.
  base::Logger log;
  std::uint64_t seed = 0;  // For jitter. Equal seeds give equal runs.
};

}  // namespace injector::runtime
