// The lines that say what became of each object. They wait until the outcome is certain: a run that
// fails has injected nothing, and must not say that it did.
//
// Not thread-safe.

#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace injector::cli {

class ObjectReport {
 public:
  explicit ObjectReport(std::ostream& err)
      : err_(err) {}

  /// True only if the file is written: "injected (envoy)".
  void claim(const std::string& file, std::string line);

  /// True in any case: why something is left alone, a warning.
  void note(std::string line);

  using WasWritten = std::function<bool(const std::string& file)>;

  /// Writes the lines, without the claims about files that were not written.
  void write(const WasWritten& was_written);

 private:
  struct Line {
    std::string text;
    std::string file;  // Empty: a note.
  };

  std::ostream& err_;  // Not owned.
  std::vector<Line> lines_;
};

}  // namespace injector::cli
