#include "cli/failure.h"

#include "base/printable.h"

namespace injector::cli {

int fail(const base::Error& error, const Streams& streams) {
  streams.err << "error: " << base::printable(error.message) << "\n";
  return kFailed;
}

}  // namespace injector::cli
