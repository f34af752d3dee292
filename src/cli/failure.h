// How every command says that it failed.

#pragma once

#include "base/result.h"
#include "cli/streams.h"

namespace injector::cli {

/// Says on `err` what went wrong; returns kFailed.
int fail(const base::Error& error, const Streams& streams);

}  // namespace injector::cli
