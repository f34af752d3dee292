// The signals of the commands that serve until they are stopped.

#pragma once

#include "base/signals.h"

namespace injector::app {

using base::Signal;
using base::SignalQueue;

}  // namespace injector::app
