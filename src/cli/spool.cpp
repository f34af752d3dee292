#include "cli/spool.h"

#include <array>

namespace injector::cli {

void Spool::write(std::string_view text) {
  memory_ += text;
  if (memory_.size() > kInMemory) {
    spill();
  }
}

void Spool::spill() {
  if (!file_) {
    file_.reset(std::tmpfile());
  }
  if (!file_ || std::fwrite(memory_.data(), 1, memory_.size(), file_.get()) != memory_.size()) {
    failed_ = true;
  }
  memory_.clear();
}

base::Result<void> Spool::flush_to(std::ostream& out) {
  if (file_ && !failed_) {
    std::rewind(file_.get());
    std::array<char, 65536> block{};
    std::size_t size = 0;
    while ((size = std::fread(block.data(), 1, block.size(), file_.get())) > 0) {
      out.write(block.data(), static_cast<std::streamsize>(size));
    }
    failed_ = std::ferror(file_.get()) != 0;
  }
  if (failed_) {
    return base::Error{base::ErrorCode::Internal, "cannot hold the output in a temporary file"};
  }
  out << memory_ << std::flush;
  file_.reset();
  memory_.clear();
  if (!out) {
    return base::Error{base::ErrorCode::Internal, "cannot write the output"};
  }
  return {};
}

}  // namespace injector::cli
