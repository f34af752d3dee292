// Output that is held back until the command has succeeded, so that a failure leaves nothing
// half-written; what is large waits in an unnamed temporary file, not in memory.
//
// Not thread-safe: one command, one spool.

#pragma once

#include <cstddef>
#include <cstdio>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>

#include "base/result.h"

namespace injector::cli {

class Spool {
 public:
  static constexpr std::size_t kInMemory = std::size_t{1} << 20U;

  void write(std::string_view text);

  /// Copies everything to `out` and empties the spool. Fails if the temporary file did, or `out`
  /// does.
  [[nodiscard]] base::Result<void> flush_to(std::ostream& out);

 private:
  struct Close {
    void operator()(std::FILE* file) const noexcept { static_cast<void>(std::fclose(file)); }
  };

  void spill();

  std::string memory_;  // The end of the output; what came before it is in file_.
  std::unique_ptr<std::FILE, Close> file_;
  bool failed_ = false;
};

}  // namespace injector::cli
