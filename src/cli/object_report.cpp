#include "cli/object_report.h"

#include <utility>

#include "base/printable.h"

namespace injector::cli {

void ObjectReport::claim(const std::string& file, std::string line) {
  lines_.push_back({std::move(line), file});
}

void ObjectReport::note(std::string line) {
  lines_.push_back({std::move(line), {}});
}

void ObjectReport::write(const WasWritten& was_written) {
  for (const Line& line : lines_) {
    if (line.file.empty() || was_written(line.file)) {
      err_ << base::printable(line.text) << "\n";
    }
  }
  lines_.clear();
}

}  // namespace injector::cli
